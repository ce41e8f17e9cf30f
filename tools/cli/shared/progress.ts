import { SingleBar } from 'cli-progress'
import { type Clock, systemClock } from '../../../src/platform/clock.js'
import { widthOf, wrapped } from './output.js'

export type ProgressStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number
}

/** The state of a run. */
export type Shown = {
  readonly done: number
  /** The items that have reached each stage, from the last stage to the first. @default `done` alone */
  readonly stages?: readonly number[]
  /** One text, or several from the longest to the shortest: the first one that fits is shown. */
  readonly text: string | readonly string[]
}

/** Progress of a run, on standard error. Standard output is reserved for the report. */
export type Progress = {
  /** Prints a line, for example the current step. */
  say(text: string): void
  /** Shows the number of finished items of `total`, and the text of `shown`, until `stop`. */
  start(total: number, shown: () => Shown): void
  stop(): void
}

// Control sequences of ECMA-48 and of the VT100.
const CLEAR_LINE = '\u001b[2K'
const SAVE_CURSOR = '\u001b7'

const DRAW_MS = 100
// In a file or a pipe, a bar would become thousands of lines.
const LINE_MS = 5_000

/** `kind`: the kind of the terminal. A dumb one shows control sequences as text, so it gets plain lines. */
export function createProgress(
  stream: ProgressStream,
  clock: Clock = systemClock,
  kind: string | undefined = process.env.TERM,
): Progress {
  const live = stream.isTTY === true && kind !== 'dumb'
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
      const line = `${wrapped(text, widthOf(stream))}\n`
      // The text takes the line of the bar. The bar is drawn again below it, and ends where the cursor is then.
      const drawn = finish !== undefined && live
      stream.write(drawn ? `\r${CLEAR_LINE}${line}${SAVE_CURSOR}` : line)
    },
    start(total, shown) {
      if (!live) {
        finish = () => stream.write(`${textsOf(shown())[0]}\n`)
        return every(LINE_MS, finish)
      }
      const bar = new SingleBar({
        format: () => barLine(shown(), total, widthOf(stream)),
        stream,
        hideCursor: null,
        forceRedraw: true,
        // The caller stops the bar, after an interrupt too.
        gracefulExit: false,
      })
      bar.start(total, 0)
      const draw = () => bar.update(shown().done)
      finish = () => {
        draw()
        bar.stop()
      }
      every(DRAW_MS, draw)
    },
    stop() {
      cancel?.()
      cancel = undefined
      finish?.()
      finish = undefined
    },
  }
}

const textsOf = ({ text }: Shown): readonly string[] => (typeof text === 'string' ? [text] : text)

const BAR_MAX = 24
const BAR_MIN = 8

/** The bar and the longest text that fits beside it, or a text alone in a narrow terminal. */
export function barLine(shown: Shown, total: number, width: number): string {
  // The last column stays empty: some terminals begin a new line there.
  const room = width - 1
  const bar = Math.min(BAR_MAX, Math.max(BAR_MIN, Math.floor(room / 5)))
  const texts = textsOf(shown)
  const beside = texts.find((text) => text.length <= room - bar - 1)
  if (beside !== undefined) return `${barOf(shown, total, bar)} ${beside}`
  return (texts.find((text) => text.length <= room) ?? texts.at(-1) ?? '').slice(0, Math.max(0, room))
}

/** One sign for each stage, from the last one to the first. */
const SIGNS = '█▓▒░'
const REST = '·'

function barOf({ done, stages = [done] }: Shown, total: number, length: number): string {
  let bar = ''
  for (const [index, items] of stages.entries()) {
    const cells = total === 0 ? length : Math.min(length, Math.floor((items / total) * length))
    bar = bar.padEnd(cells, SIGNS[index])
  }
  return bar.padEnd(length, REST)
}
