import { SingleBar } from 'cli-progress'
import { type Clock, systemClock } from '../../../src/platform/clock.js'

export type ProgressStream = NodeJS.WritableStream & { readonly isTTY?: boolean | undefined }

/** Progress of a run, on standard error. Standard output is reserved for the report. */
export type Progress = {
  /** Prints a line, for example the current step. */
  say(text: string): void
  /** Shows the number of finished items of `total`, and the text of `shown`, until `stop`. */
  start(total: number, shown: () => { readonly done: number; readonly text: string }): void
  stop(): void
}

const DRAW_MS = 100
// In a file or a pipe, a bar would become thousands of lines.
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
