"""URI templates are filled as RFC 6570 says, with text values."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.uri_template import expand, variables_of

VALUES = {"var": "value", "hello": "Hello World!", "path": "/foo/bar", "x": "1024", "y": "768"}


# From section 3.2 of the RFC.
@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{+hello}", "Hello%20World!"),
        ("{+path}/here", "/foo/bar/here"),
        ("X{#var}", "X#value"),
        ("map?{x,y}", "map?1024,768"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{?x,y,gone}", "?x=1024&y=768"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{gone}|{?gone}|{/gone}", "||"),
        ("{var:3}{path*}", "value%2Ffoo%2Fbar"),
        ("no { variables }", "no { variables }"),
    ],
)
def test_a_template_is_filled(template: str, uri: str) -> None:
    assert expand(template, VALUES) == uri


def test_the_variables_of_a_template_are_known_once() -> None:
    assert variables_of("a://{x}/{?y,x:3}{z*}") == ("x", "y", "z")


@given(template=st.text(max_size=60), value=st.text(st.characters(codec="utf-8"), max_size=20))
def test_any_template_is_survived(template: str, value: str) -> None:
    expand(template, dict.fromkeys(variables_of(template), value))
