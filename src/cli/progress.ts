import { SingleBar } from 'cli-progress'
import { type Clock, systemClock } from '../platform/clock.js'

export type ProgressStream = NodeJS.WritableStream & { readonly isTTY?: boolean | undefined }

/** Where a run stands, on standard error: standard output belongs to the report. */
export type Progress = {
  /** A line of its own: what is being done now. */
  say(text: string): void
  /** Shows how many of `total` are done, and what `shown` says beside it, until `stop`. */
  start(total: number, shown: () => { readonly done: number; readonly text: string }): void
  stop(): void
}

const DRAW_MS = 100
// Into a file or a pipe a bar would be thousands of lines.
const LINE_MS = 5_000

export function createProgress(stream: ProgressStream, clock: Clock = systemClock): Progress {
  const live = stream.isTTY === true
  let cancel: (() => void) | undefined
  let finish: (() => void) | undefined

  function every(delayMs: number, work: () => void): void {
    cancel = clock.setTimer(() => {
      work()
      every(delayMs, work)
    }, delayMs)
  }

  return {
    say(text) {
      stream.write(`${text}\n`)
    },
    start(total, shown) {
      if (!live) {
        finish = () => stream.write(`${shown().text}\n`)
        return every(LINE_MS, finish)
      }
      const bar = new SingleBar({ format: '{bar} {text}', barsize: 24, stream, hideCursor: null })
      bar.start(total, 0, { text: '' })
      const draw = () => {
        const { done, text } = shown()
        bar.update(done, { text })
      }
      finish = () => {
        draw()
        bar.stop()
      }
      every(DRAW_MS, draw)
    },
    stop() {
      cancel?.()
      finish?.()
      finish = undefined
    },
  }
}
