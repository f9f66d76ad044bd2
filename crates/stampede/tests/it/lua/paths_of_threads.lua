-- Each thread has a path and a fixed request of its own.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("settings", { number = threads, names = { "one", "two" } })
end

function init()
  wrk.path = "/" .. settings.names[settings.number]
  wrk.headers["X-Thread"] = settings.number
end
