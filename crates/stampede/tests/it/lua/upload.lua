-- Puts bytes that are no text, with a method that each request has of its own.
local bytes = {}
for byte = 0, 255 do
  bytes[#bytes + 1] = string.char(byte)
end
local body, calls = table.concat(bytes), 0

function request()
  calls = calls + 1
  local method = calls % 2 == 0 and "PATCH" or "PUT"
  return wrk.format(method, "/upload", { ["Content-Type"] = "application/octet-stream" }, body:rep(calls % 8 + 1))
end
