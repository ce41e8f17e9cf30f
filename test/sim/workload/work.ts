import { idOf } from '../ids.js'

/** The transactions that the caller wants, and its unfinished work on them. */
export type Work = {
  /** The markers of real requests: a replacement that was never requested is not among them. */
  readonly markers: ReadonlySet<number>
  idOf(marker: number): string
  /** Adds a marker. Each member of a sequence has an id with its place. */
  wants(marker: number, id?: string): void
  /** Adds a marker whose work the caller of the next process has to resume. */
  began(marker: number, resume: () => Promise<void>): void
  finished(marker: number): void
  resumeAll(): void
}

export function createWork(): Work {
  const markers = new Set<number>()
  const ids = new Map<number, string>()
  const unfinished = new Map<number, () => Promise<void>>()
  return {
    markers,
    idOf: (marker) => ids.get(marker) ?? idOf(marker),
    wants(marker, id) {
      markers.add(marker)
      if (id !== undefined) ids.set(marker, id)
    },
    began(marker, resume) {
      markers.add(marker)
      unfinished.set(marker, resume)
    },
    finished: (marker) => void unfinished.delete(marker),
    resumeAll() {
      for (const resume of [...unfinished.values()]) void resume()
    },
  }
}
