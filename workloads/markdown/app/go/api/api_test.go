package api

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	for name, row := range map[string]struct {
		method, body string
		status       int
		answer       string
	}{
		"heading and emphasis": {
			"POST", `{"data": "# h1\n_test_\n__test__\n"}`, 200,
			`{"result":"\u003ch1 id=\"h1\"\u003eh1\u003c/h1\u003e\n\u003cp\u003e` +
				`\u003cem\u003etest\u003c/em\u003e\n\u003cstrong\u003etest\u003c/strong\u003e\u003c/p\u003e\n"}`,
		},
		"no data":         {"POST", `{}`, 200, `{"result":""}`},
		"empty data":      {"POST", `{"data": ""}`, 200, `{"result":""}`},
		"name's case":     {"POST", `{"Data": "x"}`, 200, `{"result":""}`},
		"another method":  {"GET", ``, 400, `{"error":"send a POST request"}`},
		"no body":         {"POST", ``, 400, `{"error":"the body is empty"}`},
		"not JSON":        {"POST", `# h1`, 400, `{"error":"the body is not a JSON object"}`},
		"not UTF-8":       {"POST", "{\"data\": \"\xff\"}", 400, `{"error":"the body is not a JSON object"}`},
		"JSON null":       {"POST", `null`, 400, `{"error":"the body is not a JSON object"}`},
		"JSON array":      {"POST", `[]`, 400, `{"error":"the body is not a JSON object"}`},
		"JSON number":     {"POST", `3`, 400, `{"error":"the body is not a JSON object"}`},
		"data is null":    {"POST", `{"data": null}`, 400, `{"error":"data is not a string"}`},
		"data is a list":  {"POST", `{"data": []}`, 400, `{"error":"data is not a string"}`},
		"beyond the size": {"POST", strings.Repeat(" ", maxBody+1), 400, `{"error":"the body could not be read"}`},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			Serve(recorder, httptest.NewRequest(row.method, "/", strings.NewReader(row.body)))
			if recorder.Code != row.status || recorder.Body.String() != row.answer {
				t.Errorf("got %d %s, want %d %s", recorder.Code, recorder.Body, row.status, row.answer)
			}
			if kind := recorder.Header().Get("Content-Type"); kind != "application/json" {
				t.Errorf("got content type %q", kind)
			}
		})
	}
}
