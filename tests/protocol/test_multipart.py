"""The forms in which devices send pictures."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.multipart import FormError, parse_form

BOUNDARY = "----ESP32_CAMERA_BOUNDARY"
CONTENT_TYPE = f"multipart/form-data; boundary={BOUNDARY}"
# As the firmware's camera writes it.
FORM = (
    b"------ESP32_CAMERA_BOUNDARY\r\n"
    b'Content-Disposition: form-data; name="question"\r\n'
    b"\r\n"
    b"%b\r\n"
    b"------ESP32_CAMERA_BOUNDARY\r\n"
    b'Content-Disposition: form-data; name="file"; filename="camera.jpg"\r\n'
    b"Content-Type: image/jpeg\r\n"
    b"\r\n"
    b"%b\r\n"
    b"------ESP32_CAMERA_BOUNDARY--\r\n"
)


@given(question=st.text(max_size=50), photo=st.binary(max_size=200))
def test_what_the_camera_sends_is_read_back_whatever_it_holds(question: str, photo: bytes) -> None:
    body = FORM % (question.encode(), photo)
    assert parse_form(CONTENT_TYPE, body) == {"question": question.encode(), "file": photo}


OTHER = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        *(
            (content_type, FORM % (b"?", b"!"))
            for content_type in (
                "",
                "multipart/form-data",
                "multipart/form-data; boundary=",
                f"multipart/form-data; boundary={'x' * 71}",
                "multipart/form-data; boundary=other",
                f"multipart/mixed; boundary={BOUNDARY}",
            )
        ),
        (OTHER, b""),
        (OTHER, b"--x"),
        (OTHER, b"no form --x\r\n\r\n--x--"),
        (OTHER, b"--x\r\nContent-Type: image/jpeg\r\n\r\nno name\r\n--x--"),
        (OTHER, b'--x\r\nContent-Disposition: form-data; name="no end"\r\n\r\nhalf a pict'),
        (OTHER, b'--x\r\nContent-Disposition: form-data; name="no blank line"\r\n--x--'),
        (OTHER, b'--x\r\nContent-Disposition: form-data; name="many"\r\n\r\n' + b"\r\n--x" * 100 + b"--"),
        (
            OTHER,
            b'--x\r\nContent-Disposition: form-data; name="head"\r\nA: '
            + b"a" * 3000
            + b"\r\n\r\n!\r\n--x--",
        ),
    ],
)
def test_another_kind_of_body_or_a_broken_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(FormError):
        parse_form(content_type, body)


@given(content_type=st.text(max_size=100), body=st.binary(max_size=300))
def test_anything_gives_fields_or_a_form_error(content_type: str, body: bytes) -> None:
    for kind in (content_type, OTHER):
        for data in (body, b"--x" + body, b"--x\r\n" + body + b"\r\n--x--"):
            try:
                fields = parse_form(kind, data)
            except FormError:
                continue
            assert all(isinstance(name, str) for name in fields)


@given(cut=st.integers(0, 10_000))
def test_a_form_that_was_cut_off_is_refused(cut: int) -> None:
    body = FORM % (b"What?", bytes(100))
    whole = len(body) - len(b"--\r\n")
    with pytest.raises(FormError):
        parse_form(CONTENT_TYPE, body[: cut % whole])
