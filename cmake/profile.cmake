# Profile-guided optimisation: g++ lays out what runs often together and inlines it, by a profile that
# `scripts/build --tuned` records. A function that has changed since, or that the profile never saw, is compiled
# as it would be without a profile.
set(profile_folder ${CMAKE_SOURCE_DIR}/build/profile)
# The profile of a file is found by its path within the build folder, whichever folder that is.
set(profile_prefix -fprofile-prefix-path=${CMAKE_BINARY_DIR})
if(PGB_RECORD)
    add_compile_options(-fprofile-generate=${profile_folder} ${profile_prefix} -fprofile-update=prefer-atomic)
    add_link_options(-fprofile-generate=${profile_folder})
elseif(PGB_LTO AND EXISTS ${profile_folder})
    # Code that has changed since does not fit the profile; g++ says so in warnings of which one has no switch.
    add_compile_options(-fprofile-use=${profile_folder} ${profile_prefix} -fprofile-partial-training
                        -Wno-missing-profile -Wno-coverage-mismatch)
    target_compile_options(pgb_options INTERFACE -Wno-error)
    add_link_options(-fprofile-use=${profile_folder} -Wno-coverage-mismatch -Wno-error)
endif()
