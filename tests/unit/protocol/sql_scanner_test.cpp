#include "protocol/sql_scanner.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace pgb {
namespace {

// The tokens of a text, with their kinds: w word, q quoted, s string, `,` `;`, o other.
std::string tokens(std::string_view text) {
    SqlScanner scanner(text);
    std::string found;
    while (true) {
        const SqlToken token = scanner.next();
        char kind = '?';
        switch (token.kind) {
            case SqlTokenKind::end: return found;
            case SqlTokenKind::word: kind = 'w'; break;
            case SqlTokenKind::quoted: kind = 'q'; break;
            case SqlTokenKind::string: kind = 's'; break;
            case SqlTokenKind::comma: kind = ','; break;
            case SqlTokenKind::semicolon: kind = ';'; break;
            case SqlTokenKind::other: kind = 'o'; break;
        }
        if (!found.empty()) found += ' ';
        found += std::string(1, kind) + "<" + std::string(token.text) + ">";
        if (kind == 'o' && token.text.empty()) return found;
    }
}

TEST_CASE("sql scanner: an E literal is one token, whatever its backslashes hide") {
    CHECK(tokens(R"(E'a')") == R"(o<E'a'>)");
    CHECK(tokens(R"(e'a\'; set x' ;)") == R"(o<e'a\'; set x'> ;<;>)");
    CHECK(tokens(R"(E'\\' ;)") == R"(o<E'\\'> ;<;>)");
    CHECK(tokens(R"(E'a''b' c)") == R"(o<E'a''b'> w<c>)");
    CHECK(tokens(R"(E'a\''' c)") == R"(o<E'a\''' c>)");
    CHECK(tokens(R"(E'open)") == R"(o<E'open>)");
    CHECK(tokens(R"(E'open\)") == R"(o<E'open\>)");
}

TEST_CASE("sql scanner: only a lone E in front of a quote begins an E literal") {
    CHECK(tokens(R"(E 'a')") == R"(w<E> s<'a'>)");
    CHECK(tokens(R"(LIKE'a\')") == R"(w<LIKE> o<'a\'>)");
    CHECK(tokens(R"(B'01' x'ff' n'a')") == R"(w<B> s<'01'> w<x> s<'ff'> w<n> s<'a'>)");
    CHECK(tokens(R"(type'a')") == R"(w<type> s<'a'>)");
}

TEST_CASE("sql scanner: a dollar-quoted literal is one token up to its own tag") {
    CHECK(tokens("$$a;b$$ c") == "o<$$a;b$$> w<c>");
    CHECK(tokens("$x$ $$ ; $y$ $x$;") == "o<$x$ $$ ; $y$ $x$> ;<;>");
    CHECK(tokens("$X$a$x$ b$X$ c") == "o<$X$a$x$ b$X$> w<c>");
    CHECK(tokens("$$open ; set") == "o<$$open ; set>");
    CHECK(tokens("$x$open $x") == "o<$x$open $x>");
}

TEST_CASE("sql scanner: a parameter or a dollar in a name begins no literal") {
    CHECK(tokens("$1 ; $2") == "o<$> o<1> ;<;> o<$> o<2>");
    CHECK(tokens("a$b$c ; d$b$") == "w<a$b$c> ;<;> w<d$b$>");
    CHECK(tokens("$1$ ;") == "o<$> o<1> o<$> ;<;>");
}

TEST_CASE("sql scanner: plain literals and quoted names double their quotes") {
    CHECK(tokens(R"('it''s' "a""b")") == R"(s<'it''s'> q<"a""b">)");
    CHECK(tokens(R"('a\' ; 'b')") == R"(o<'a\'> ;<;> s<'b'>)");
    CHECK(tokens(R"('open ;)") == R"(o<'open ;>)");
    CHECK(tokens(R"("open ;)") == R"(o<"open ;>)");
    CHECK(tokens(R"("")") == R"(o<"">)");
}

TEST_CASE("sql scanner: comments are blanks, nested ones too, and an open one ends the text") {
    CHECK(tokens("a -- ; b\nc") == "w<a> w<c>");
    CHECK(tokens("a/*;/*;*/;*/b") == "w<a> w<b>");
    CHECK(tokens("a /* open") == "w<a> o<>");
    CHECK(tokens("a - - b / * c") == "w<a> o<-> o<-> w<b> o</> o<*> w<c>");
}

}  // namespace
}  // namespace pgb
