import { readdirSync, readlinkSync } from 'node:fs'

/** What the sender's process holds at one moment, after a full garbage collection. */
export type Sample = {
  readonly atMs: number
  readonly heapBytes: number
  readonly rssBytes: number
  /** What keeps the event loop alive, by its kind. */
  readonly timers: number
  /** The idle ones too, which keep nothing alive, where the system tells of them. */
  readonly sockets: number
  /** Everything else of that sort. */
  readonly handles: number
  /** Transactions asked for that have not ended. */
  readonly open: number
}

/** @throws Error without `--expose-gc`: a heap with garbage in it says nothing. */
export function takeSample(sinceMs: number, open: number): Sample {
  const collect = globalThis.gc
  if (collect === undefined) throw new Error('run node with --expose-gc.')
  collect()
  const { heapUsed, external, rss } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo()
  const timers = resources.filter((kind) => kind === 'Timeout' || kind === 'Immediate').length
  const busy = resources.filter((kind) => kind.startsWith('TCP') || kind.startsWith('TLS')).length
  return {
    atMs: Date.now() - sinceMs,
    heapBytes: heapUsed + external,
    rssBytes: rss,
    timers,
    sockets: openSockets() ?? busy,
    handles: resources.length - timers - busy,
    open,
  }
}

function openSockets(): number | undefined {
  const folder = '/proc/self/fd'
  try {
    return readdirSync(folder).filter((name) => targetOf(`${folder}/${name}`)?.startsWith('socket:')).length
  } catch {
    return undefined
  }
}

/** Undefined for one that has been closed since the folder was listed. */
function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}
