-- The table `wrk` as scripts know it, and what Stampede calls in a state. Run in each state before the script.
local scheme, host, port, path = ...

wrk = { scheme = scheme, host = host, port = port, method = "GET", path = path, headers = {} }
package.loaded.wrk = wrk

-- Keeps the addresses of the target that accept a connection.
function wrk.resolve(name, service)
  local reached = {}
  for _, address in ipairs(wrk.lookup(name, service)) do
    if wrk.connect(address) then
      reached[#reached + 1] = address
    end
  end
  wrk.addrs = reached
end

-- One request as it goes over the wire. What is not given is taken from `wrk`; the headers' table is told of both.
function wrk.format(method, target, headers, body)
  headers = headers or wrk.headers
  body = body or wrk.body
  if not headers["Host"] then
    headers["Host"] = wrk.headers["Host"]
  end
  headers["Content-Length"] = body and #body

  local lines, last = { (method or wrk.method) .. " " .. (target or wrk.path) .. " HTTP/1.1" }, 1
  for name, value in pairs(headers) do
    last = last + 1
    lines[last] = string.format("%s: %s", name, value)
  end
  lines[last + 1] = ""
  lines[last + 2] = body or ""
  return table.concat(lines, "\r\n")
end

function wrk.setup(thread)
  thread.addr = wrk.addrs[1]
  if type(setup) == "function" then
    setup(thread)
  end
end

function wrk.init(args)
  if not wrk.headers["Host"] then
    local name = wrk.host:find(":", 1, true) and "[" .. wrk.host .. "]" or wrk.host
    wrk.headers["Host"] = wrk.port and name .. ":" .. wrk.port or name
  end
  if type(init) == "function" then
    init(args)
  end
  local fixed = wrk.format()
  function wrk.request()
    return fixed
  end
end

-- Modules in C are refused: they may be of another Lua, and no program that is linked statically can load them.
local function refuse(name, file)
  error("module '" .. name .. "' is the C library " .. file .. ", and C modules are not loaded", 3)
end

local function library(name)
  for template in package.cpath:gmatch("[^;]+") do
    local file = template:gsub("%?", (name:gsub("%.", "/")))
    local found = io.open(file, "rb")
    if found then
      found:close()
      return file
    end
  end
end

package.loaders[4] = nil
package.loaders[3] = function(name)
  local file = library(name)
  if file then
    refuse(name, file)
  end
  return "\n\tno C module, which would be refused"
end

function package.loadlib(file)
  refuse(tostring(file), tostring(file))
end

-- Where Debian has modules in Lua; a LuaJIT that was built with the program does not look there.
if not package.path:find("/usr/share/lua/5.1/", 1, true) then
  package.path = package.path .. ";/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua"
end

local stdout = io.stdout

-- The functions of the script are looked up at each call: it may replace them while it runs.
return {
  resolve = function(name, service)
    wrk.resolve(name, service)
    return #wrk.addrs
  end,
  setup = function(thread)
    wrk.setup(thread)
  end,
  init = function(args)
    wrk.init(args)
  end,
  request = function()
    if type(request) == "function" then
      return request()
    end
    return wrk.request()
  end,
  response = function(status, headers, body)
    response(status, headers, body)
  end,
  delay = function()
    return delay()
  end,
  done = function(summary, latency, requests)
    done(summary, latency, requests)
  end,
  flush = function()
    stdout:flush()
  end,
}
