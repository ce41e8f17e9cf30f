import { readdirSync, readlinkSync } from 'node:fs'

/** The resources of the sender's process at one moment, after a full garbage collection. */
export type Sample = {
  readonly atMs: number
  readonly heapBytes: number
  readonly rssBytes: number
  /** Resources that keep the event loop alive, by kind. */
  readonly timers: number
  /** Includes idle sockets, which keep nothing alive, if the system lists them. */
  readonly sockets: number
  /** All other handles. */
  readonly handles: number
  /** Sent transactions that have not ended. */
  readonly open: number
}

/** @throws Error without `--expose-gc`, because a heap with garbage in it proves nothing */
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

/** Undefined if it was closed after the folder was listed. */
function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}
