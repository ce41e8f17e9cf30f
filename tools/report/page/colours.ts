/** Returns a colour by its name in the page's style. */
export type Colours = (name: string) => string

/** The colours as they are now. */
export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement)
  const known = new Map<string, string>()
  return (name) => {
    const colour = known.get(name) ?? style.getPropertyValue(`--${name}`).trim()
    known.set(name, colour)
    return colour
  }
}

/** The button that switches between light and dark. The charts are then redrawn; paper is always light. */
export function themeButton(button: HTMLElement, changed: () => void): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const root = document.documentElement
  const isDark = () => (root.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark'
  const say = () => {
    button.textContent = isDark() ? 'Light colours' : 'Dark colours'
  }
  button.hidden = false
  say()
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark'
    say()
    changed()
  })
  system.addEventListener('change', () => {
    say()
    changed()
  })
  matchMedia('print').addEventListener('change', changed)
}
