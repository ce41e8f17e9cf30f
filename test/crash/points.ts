/**
 * Where a process may end itself, and up to which pass of that point a plan may wait: what a life surely does.
 *
 * `before` and `after` stand around a call of the store. `journal` is the write that has new signed bytes in it, `settle`
 * the one that says that something has ended or is beyond doubt: both are a `write` as well. `during` is left to the
 * parent, which ends the process while the call is under way. Of a broadcast `sent` stands where the system has taken
 * all bytes of the request, `answered` where the answer was read and nobody has looked at it yet.
 */
export const POINTS = {
  'acquire:before': 1,
  'acquire:after': 1,
  'load:before': 1,
  'load:after': 1,
  'enqueue:before': 4,
  'enqueue:during': 4,
  'enqueue:after': 4,
  'journal:before': 5,
  'journal:after': 5,
  'broadcast:before': 4,
  'broadcast:sent': 4,
  'broadcast:answered': 4,
  'write:before': 10,
  'write:during': 10,
  'write:after': 10,
  'settle:before': 3,
  'settle:after': 3,
  'release:before': 1,
  'release:after': 1,
} as const satisfies Record<string, number>

export type Point = keyof typeof POINTS

export const POINT_NAMES = Object.keys(POINTS) as readonly Point[]
