-- Arguments after `--`: a file with the headers of every request (`name: value` lines), a file with bearer
-- tokens (one a line, taken in turn), a file with the body, and the file that the result is written to.
-- Files instead of arguments keep the tokens out of the list of processes.

local requests, turn = {}, 0

local function lines(path)
  local list = {}
  for line in io.lines(path) do if #line > 0 then list[#list + 1] = line end end
  return list
end

function init(args)
  local headers = { ["content-type"] = "application/json" }
  for _, line in ipairs(lines(args[1])) do
    local name, value = line:match("^([^:]+):%s*(.*)$")
    headers[name] = value
  end
  local file = io.open(args[3])
  local body = file:read("*a")
  file:close()
  for _, token in ipairs(lines(args[2])) do
    headers["authorization"] = "Bearer " .. token
    requests[#requests + 1] = wrk.format(os.getenv("BENCH_METHOD"), nil, headers, body)
  end
  if #requests == 0 then requests[1] = wrk.format(os.getenv("BENCH_METHOD"), nil, headers, body) end
end

function setup(thread)
  target = thread
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

-- Runs in another Lua state than init, so the file for the result comes from the environment.
function done(summary, latency)
  local errors = summary.errors
  local file = io.open(os.getenv("BENCH_RESULT"), "w")
  file:write(string.format('{"answered":%d,"refused":%d,"failed":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f}',
    summary.requests - errors.status, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
  file:close()
end
