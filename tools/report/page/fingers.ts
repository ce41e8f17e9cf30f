import type uPlot from 'uplot'
import type { Span } from './nonceView.js'

type Pair = readonly [left: number, right: number]

// Fingers that are closer would zoom by jumps.
const APART_MIN = 10

/** Two fingers on a touch screen zoom and move: the times under them stay under them. One finger scrolls the page. */
export function followFingers({ over, posToVal }: uPlot, showSpan: (span: Span) => void): void {
  let held: Pair | undefined
  const places = ({ targetTouches: [a, b] }: TouchEvent): Pair | undefined => {
    if (a === undefined || b === undefined) return undefined
    const { left } = over.getBoundingClientRect()
    const [x, y] = [a.clientX - left, b.clientX - left]
    return x < y ? [x, y] : [y, x]
  }
  const onTouch = (event: TouchEvent) => {
    const now = places(event)
    if (now === undefined) {
      held = undefined
      return
    }
    // The browser would zoom or scroll the page.
    event.preventDefault()
    if (now[1] - now[0] < APART_MIN) return
    if (held === undefined) held = [posToVal(now[0], 'x'), posToVal(now[1], 'x')]
    else showSpan(spanUnder(held, now, over.clientWidth))
  }
  for (const name of ['touchstart', 'touchmove'] as const)
    over.addEventListener(name, onTouch, { passive: false })
  for (const name of ['touchend', 'touchcancel'] as const)
    over.addEventListener(name, () => {
      held = undefined
    })
}

/** The span of a chart of this width that has the two times at the two places. */
export function spanUnder(times: Pair, [left, right]: Pair, width: number): Span {
  const perPixel = (times[1] - times[0]) / (right - left)
  const from = times[0] - left * perPixel
  return { from, to: from + width * perPixel }
}
