"""The HTTP of an answer, from its reads."""

from pipeline.drive.response import read_response

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_pieces_of_the_body_have_the_time_of_their_read() -> None:
    found = read_response([(1, CHUNKED), (2, b"3\r\nabc\r\n2\r\nd"), (3, b"e\r\n0\r\n\r\n")])
    assert (found.status, found.body, found.complete) == (200, [(2, b"abcd"), (3, b"e")], True)


def test_a_head_in_pieces_is_read() -> None:
    found = read_response([(1, CHUNKED[:20]), (2, CHUNKED[20:] + b"1\r\na\r\n")])
    assert (found.status, found.body, found.complete) == (200, [(2, b"a")], False)


def test_extensions_and_trailers_are_no_body() -> None:
    found = read_response([(1, CHUNKED + b"1;x=y\r\na\r\n0\r\nTrailer: z\r\n\r\n")])
    assert (found.body, found.complete) == ([(1, b"a")], True)


def test_a_length_ends_the_body() -> None:
    found = read_response([(1, b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")])
    assert (found.status, found.body, found.complete) == (404, [(1, b"no")], True)


def test_a_body_without_a_length_goes_on_until_the_connection_ends() -> None:
    found = read_response([(1, b"HTTP/1.0 200 OK\r\n\r\na"), (2, b"b")])
    assert (found.body, found.complete) == ([(1, b"a"), (2, b"b")], False)


def test_an_interim_answer_is_not_the_answer() -> None:
    found = read_response([(1, b"HTTP/1.1 100 Continue\r\n\r\n"), (2, CHUNKED + b"1\r\na\r\n0\r\n\r\n")])
    assert (found.status, found.body) == (200, [(2, b"a")])


def test_no_answer_has_no_status() -> None:
    assert (read_response([]).status, read_response([(1, b"HTTP/1.1 2")]).status) == (0, 0)


def test_what_is_not_http_is_said() -> None:
    found = read_response([(1, b"220 mail ready\r\n")])
    assert found.status == 0
    assert (found.problem or "").startswith("not HTTP: ")


def test_damage_inside_keeps_what_came_before() -> None:
    found = read_response([(1, CHUNKED + b"1\r\na\r\n"), (2, b"zz\r\n")])
    assert (found.status, found.body, found.complete) == (200, [(1, b"a")], False)
    assert found.problem is not None
