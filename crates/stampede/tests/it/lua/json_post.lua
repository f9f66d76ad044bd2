-- Posts JSON whose number rises.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"

local number = 0

function request()
  number = number + 1
  return wrk.format(nil, nil, nil, string.format('{"data": "# h%d", "n": %d}', number % 6 + 1, number))
end
