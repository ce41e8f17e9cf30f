type Attributes = Readonly<Record<string, string | number | boolean | undefined>>
export type Child = Node | string | number | undefined

/**
 * Creates an element. Children are inserted as text, never as markup: ids, messages and reasons may contain
 * anything.
 */
export function element<tag extends keyof HTMLElementTagNameMap>(
  tag: tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : String(value))
  }
  made.append(...children.filter((child) => child !== undefined).map(toChild))
  return made
}

function toChild(child: Node | string | number): Node | string {
  return typeof child === 'number' ? String(child) : child
}

export function byId(id: string): HTMLElement | null {
  return document.getElementById(id)
}

export function button(
  label: string,
  className: string,
  onClick: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const made = element('button', { type: 'button', class: className, ...attributes }, label)
  made.addEventListener('click', onClick)
  return made
}

/** A part that opens. Its content is made when it is opened first, because a table may have thousands of cells. */
export function opening(
  summary: readonly Child[],
  make: () => Node,
  attributes: Attributes = {},
): HTMLElement {
  const made = element('details', attributes, element('summary', {}, ...summary))
  const fill = () => {
    if (made.open && made.childElementCount === 1) made.append(make())
  }
  made.addEventListener('toggle', fill)
  fill()
  return made
}
