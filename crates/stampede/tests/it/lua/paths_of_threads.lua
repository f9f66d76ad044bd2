-- Each thread has a path and a fixed request of its own.
local names = { "one", "two" }
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  wrk.path = "/" .. names[number]
  wrk.headers["X-Thread"] = number
end
