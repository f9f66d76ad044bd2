package api

import "testing"

func TestAnswer(t *testing.T) {
	for _, row := range []struct {
		path, name string
		status     int
		text       string
	}{
		{"/", "", 200, "Hello, World!\n"},
		{"/", "Ada", 200, "Hello, Ada!\n"},
		{"/none", "Ada", 404, "Nothing here.\n"},
	} {
		if status, text := answer(row.path, row.name); status != row.status || text != row.text {
			t.Errorf("%s %s: %d %q", row.path, row.name, status, text)
		}
	}
}
