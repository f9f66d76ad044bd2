-- Uses LuaJIT's own libraries: a C function by ffi, bits, and coroutines.
local ffi = require("ffi")
ffi.cdef("int abs(int number);")

local numbers = coroutine.wrap(function()
  local state = 1
  while true do
    state = bit.band(state * 5 + 1, 0xff)
    coroutine.yield(ffi.C.abs(-state))
  end
end)

function request()
  return wrk.format("DELETE", "/item/" .. numbers(), { ["X-Kind"] = jit and "jit" or "plain" })
end
