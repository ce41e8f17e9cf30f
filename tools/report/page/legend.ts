import { button, element } from './dom.js'

export type LegendEntry = {
  readonly name: string
  /** A character in the colour of the entry. */
  readonly mark: string
  readonly colour: string
}

/** Buttons that show and hide parts of a chart. */
export function legend(
  entries: readonly LegendEntry[],
  changed: (hidden: ReadonlySet<string>) => void,
): Node {
  const hidden = new Set<string>()
  const buttons = entries.map(({ name, mark, colour }) => {
    const made = button('', '', toggle, { 'aria-pressed': 'true', title: `Show or hide: ${name}` })
    const key = element(
      'span',
      { class: 'key', style: `color: var(--${colour})`, 'aria-hidden': 'true' },
      mark,
    )
    made.append(key, name)
    function toggle(): void {
      if (!hidden.delete(name)) hidden.add(name)
      made.setAttribute('aria-pressed', String(!hidden.has(name)))
      changed(hidden)
    }
    return made
  })
  return element('div', { class: 'legend', role: 'group', 'aria-label': 'Parts of the chart' }, ...buttons)
}
