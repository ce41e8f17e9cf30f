/** Returns a colour by its name in the page's style. */
export type Colours = (name: string) => string

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement)
  return (name) => style.getPropertyValue(`--${name}`).trim()
}

/** The button that switches between light and dark. The charts are then redrawn. */
export function themeButton(button: HTMLElement, changed: () => void): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const root = document.documentElement
  const isDark = () => (root.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark'
  const say = () => {
    button.textContent = isDark() ? 'Light' : 'Dark'
    button.setAttribute('aria-label', `Switch to ${isDark() ? 'light' : 'dark'} colours`)
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
}
