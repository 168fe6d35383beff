// Lua scripts that change execution records. Each script is atomic and idempotent.

/** Records an unconfirmed start. KEYS: starts, correlation. ARGV: token, start, time, time to live. */
export const startScript = `
redis.call('zadd', KEYS[1], ARGV[3], ARGV[2])
redis.call('zadd', KEYS[2], ARGV[3], ARGV[1])
return redis.call('pexpire', KEYS[2], ARGV[4])`;

/**
 * Lua function that removes a record and returns whether the record existed. KEYS: executions, started, open, ended.
 * The key of the record's correlation id is built from the prefix.
 */
const forget = `
local function forget(id, prefix)
  local record = redis.call('hget', KEYS[1], id)
  for set = 2, 4 do redis.call('zrem', KEYS[set], id) end
  if not record then return false end
  redis.call('hdel', KEYS[1], id)
  local correlation = cjson.decode(record).correlationId
  if correlation then redis.call('zrem', prefix .. 'correlation:' .. correlation, id) end
  return true
end`;

/**
 * Maximum number of records that one call drops. It is small, because Redis executes nothing else during the call. It
 * is more than one, so that the number of records decreases after an operator has lowered the limit.
 */
const maxDropped = 10;

/**
 * Records an execution and removes the record of its start in the same step, so that an outage cannot lose both. If the
 * execution is already recorded, its record stays; if the execution is to be reopened, only the recorded end is
 * removed. Returns the number of records dropped because of the limit. KEYS: executions, started, open, ended, starts,
 * correlation (optional). ARGV: id, record, start time, limit (0: none), time to live, prefix, whether to reopen an
 * execution that is already recorded (1 or 0), start and token (both optional).
 */
export const putScript = `${forget}
if KEYS[6] then
  redis.call('zadd', KEYS[6], ARGV[3], ARGV[1])
  redis.call('pexpire', KEYS[6], ARGV[5])
  if ARGV[9] then
    redis.call('zrem', KEYS[5], ARGV[8])
    redis.call('zrem', KEYS[6], ARGV[9])
  end
end
if redis.call('hsetnx', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  if ARGV[7] == '0' or redis.call('zrem', KEYS[4], ARGV[1]) == 0 then return 0 end
  local record = cjson.decode(redis.call('hget', KEYS[1], ARGV[1]))
  record.status = nil
  record.endedAt = nil
  redis.call('hset', KEYS[1], ARGV[1], cjson.encode(record))
  redis.call('zadd', KEYS[3], record.startedAt, ARGV[1])
  return 0
end
redis.call('zadd', KEYS[2], ARGV[3], ARGV[1])
redis.call('zadd', KEYS[3], ARGV[3], ARGV[1])
local limit = tonumber(ARGV[4])
local dropped = 0
for _ = 1, ${maxDropped} do
  if limit == 0 or redis.call('hlen', KEYS[1]) <= limit then break end
  local open = redis.call('zrange', KEYS[3], 0, 1)
  local oldest = redis.call('zrange', KEYS[4], 0, 0)[1] or open[1] == ARGV[1] and open[2] or open[1]
  if not oldest or oldest == ARGV[1] then break end
  if forget(oldest, ARGV[6]) then dropped = dropped + 1 end
end
return dropped`;

/**
 * Records the end of an execution. Returns 1 when the record was changed; 0 when it already has this status or does not
 * exist. The first write of the script is a removal, because a full Redis rejects a script only if its first write
 * needs memory (redis/src/script.c, scriptVerifyOOM). The script must work on a full Redis: pruning selects executions
 * by the time of their recorded end, so without this script a full Redis could not be pruned. KEYS: executions, open,
 * ended. ARGV: id, status, time.
 */
export const endScript = `
local known = redis.call('hget', KEYS[1], ARGV[1])
if not known then return 0 end
local record = cjson.decode(known)
if record.status == ARGV[2] then return 0 end
record.status = ARGV[2]
record.endedAt = tonumber(ARGV[3])
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('hset', KEYS[1], ARGV[1], cjson.encode(record))
redis.call('zadd', KEYS[3], ARGV[3], ARGV[1])
return 1`;

/** Removes records. KEYS: executions, started, open, ended. ARGV: prefix, ids. */
export const forgetScript = `${forget}
for index = 2, #ARGV do forget(ARGV[index], ARGV[1]) end
return #ARGV - 1`;
