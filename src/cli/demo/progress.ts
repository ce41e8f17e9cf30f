import { SingleBar } from 'cli-progress'
import { type Clock, systemClock } from '../../clock.js'
import type { StageCounts } from './records.js'

export type ProgressStream = NodeJS.WritableStream & { readonly isTTY?: boolean | undefined }

/** Where a run stands, on standard error: standard output belongs to the report. */
export type Progress = {
  /** A line of its own: what is being done now. */
  say(text: string): void
  /** Shows the counts until `stop`. */
  start(total: number, counts: () => StageCounts): void
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
    start(total, counts) {
      if (!live) {
        finish = () => stream.write(`${line(counts(), total)}\n`)
        return every(LINE_MS, finish)
      }
      const bar = new SingleBar({ format: '{bar} {stages}', barsize: 24, stream, hideCursor: null })
      bar.start(total, 0, { stages: '' })
      const draw = () => {
        const now = counts()
        bar.update(now.sealed + now.failed, { stages: line(now, total) })
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

function line({ sent, accepted, preconfirmed, sealed, failed }: StageCounts, total: number): string {
  const stages = `sent ${sent}, accepted ${accepted}, preconfirmed ${preconfirmed}, sealed ${sealed}`
  return `${stages}${failed > 0 ? `, failed ${failed}` : ''} of ${total}`
}
