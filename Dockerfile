# An image of pgbulkhead: the Debian package that this tree makes, in a Debian that has nothing else.
#
#   docker build -t pgbulkhead .
#   docker run --read-only -v ./budgets:/etc/pgbulkhead:ro -p 6432:6432 pgbulkhead
#
# The budgets are yours: a folder with a budgets.yaml in it, not the file alone, so that an edited one is noticed
# whatever way an editor replaces it. Nothing is written anywhere; for a Unix socket mount a volume at /run/pgbulkhead.
ARG BASE=debian:12-slim
# `build` makes the package; `ready` takes one that lies beside this file, as `scripts/image --package` has it.
ARG PACKAGE=build

FROM ${BASE} AS build
WORKDIR /src
# First what changes rarely.
COPY scripts/setup scripts/lib.sh scripts/
COPY cmake/page_library.cmake cmake/
COPY proxy/admin/dashboard/package.json proxy/admin/dashboard/package-lock.json proxy/admin/dashboard/
RUN scripts/setup --build
COPY . .
RUN cmake --preset release -D PGB_TESTS=OFF && scripts/package

FROM ${BASE} AS ready
COPY *.deb /src/build/package/

FROM ${PACKAGE} AS package

FROM ${BASE}
LABEL org.opencontainers.image.title="pgbulkhead" \
      org.opencontainers.image.description="Admission proxy that gives each PostgreSQL workload its own budget" \
      org.opencontainers.image.licenses="Apache-2.0"
# The budgets of the package are for a machine of its own: here 127.0.0.1 is the container alone.
RUN --mount=type=bind,from=package,source=/src/build/package,target=/package \
    apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ca-certificates /package/*.deb && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /etc/pgbulkhead/budgets.yaml && \
    groupadd --gid 10001 pgbulkhead && \
    useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin pgbulkhead && \
    install -d -o 10001 -g 10001 /run/pgbulkhead
# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
# Clients, and admin.probes by convention.
EXPOSE 6432 9433
HEALTHCHECK --interval=10s --timeout=6s --start-period=5s \
    CMD ["pgbulkhead", "healthcheck", "-c", "/etc/pgbulkhead/budgets.yaml"]
ENTRYPOINT ["pgbulkhead"]
CMD ["run", "-c", "/etc/pgbulkhead/budgets.yaml"]
