#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/session/statement_registry.h"

namespace pgb {

/// Reads the answer to a Describe of a statement, in pieces as they come: ParameterDescription,
/// then RowDescription or NoData. Of the columns only a digest is kept, so that an answer of any
/// size is read in the same space (manual, "Message Formats").
class ShapeReader {
public:
    void start();
    /// A piece of a message of type 't' or 'T'; `first` pieces begin with the header.
    void read(char type, bool first, std::string_view bytes);

    /// Parameter types as StatementKey wants them.
    [[nodiscard]] const std::string& types() const { return types_; }
    [[nodiscard]] RowShape rows() const { return rows_; }

private:
    void read_columns(std::string_view bytes);
    void mix(char byte);

    std::string types_;
    RowShape rows_ = kNoRows;
    std::uint64_t digest_ = 0;
    std::size_t skip_ = 0;  // bytes of the begun message in front of what is of interest
    std::size_t at_ = 0;    // in the fixed part of a column
    bool in_name_ = true;
};

}  // namespace pgb
