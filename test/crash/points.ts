/**
 * The points at which a process may end itself, and the highest pass of each point that a plan may name:
 * every life reaches it.
 * `before` and `after` surround a call of the store. `journal` is the write that holds new signed bytes;
 * `settle` is the write that records an end or a final confirmation. Both are a `write` as well. At `during`
 * the parent kills the process while the call is in progress. For a broadcast, `sent` is the moment at which
 * the system has taken all bytes of the request, and `answered` the moment at which the answer was read but
 * not yet processed.
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
