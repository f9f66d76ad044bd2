package api

import (
	"net/url"
	"testing"
)

func TestAnswer(t *testing.T) {
	for _, row := range []struct {
		path   string
		query  url.Values
		status int
		text   string
	}{
		{"/", nil, 200, "Hello, World!\n"},
		{"/", url.Values{"name": {"Ada"}}, 200, "Hello, Ada!\n"},
		{"/", url.Values{"name": {""}}, 200, "Hello, !\n"},
		{"/gzip", url.Values{"name": {"Ada"}}, 200, "Hello, Ada!\n"},
		{"/none", nil, 404, "Nothing here.\n"},
	} {
		if status, text := answer(row.path, row.query); status != row.status || text != row.text {
			t.Errorf("%s %v: %d %q", row.path, row.query, status, text)
		}
	}
}
