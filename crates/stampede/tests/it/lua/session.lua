-- Logs in, keeps the cookie that comes, and sends it from then on.
local cookie

function request()
  if cookie then
    return wrk.format("GET", "/account", { Cookie = cookie })
  end
  return wrk.format("POST", "/login", { ["Content-Type"] = "application/x-www-form-urlencoded" }, "user=me&password=x")
end

function response(status, headers, body)
  if status == 200 and headers["Set-Cookie"] then
    cookie = headers["Set-Cookie"]:match("^[^;]+")
  end
end
