import { number } from '../../model/words.js'
import { PAGE_ROWS } from '../pageRows.js'

export type Pages = {
  /** For a table that shows its first page already. */
  begin(rows: number): void
  /** Shows the first page of that many rows. */
  show(rows: number): void
  readonly redraw: () => void
}

/** Buttons for the pages of a long table. */
export function createPages(
  place: HTMLElement,
  table: HTMLElement,
  draw: (from: number, to: number) => void,
): Pages {
  let [rows, page] = [0, 0]
  const last = () => Math.max(0, Math.ceil(rows / PAGE_ROWS) - 1)
  const position = document.createElement('span')
  const buttons = [
    turn('First', () => 0),
    turn('Previous', () => page - 1),
    turn('Next', () => page + 1),
    turn('Last', last),
  ] as const
  place.append(buttons[0].element, buttons[1].element, position, buttons[2].element, buttons[3].element)

  const label = () => {
    place.hidden = last() === 0
    position.textContent = `Page ${number(page + 1)} of ${number(last() + 1)}`
    for (const { element, target } of buttons)
      element.setAttribute('aria-disabled', String(target() === page || target() < 0 || target() > last()))
  }
  const redraw = () => {
    draw(page * PAGE_ROWS, Math.min(rows, (page + 1) * PAGE_ROWS))
    label()
  }

  function turn(text: string, target: () => number) {
    const element = document.createElement('button')
    element.type = 'button'
    element.textContent = text
    element.addEventListener('click', () => {
      if (element.getAttribute('aria-disabled') === 'true') return
      page = target()
      redraw()
      table.scrollIntoView({ block: 'start' })
    })
    return { element, target }
  }

  return {
    begin(count) {
      rows = count
      label()
    },
    show(count) {
      ;[rows, page] = [count, 0]
      redraw()
    },
    redraw,
  }
}
