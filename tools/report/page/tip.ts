let shown: HTMLElement | undefined

function tip(): HTMLElement {
  if (shown === undefined) {
    shown = document.createElement('div')
    shown.id = 'tip'
    shown.hidden = true
    document.body.append(shown)
    addEventListener('scroll', hideTip, { passive: true })
  }
  return shown
}

export function hideTip(): void {
  tip().hidden = true
}

/** Shows the content beside the point of the window, on the side with room. */
export function showTip(content: Node, x: number, y: number): void {
  const made = tip()
  made.replaceChildren(content)
  made.hidden = false
  const { width, height } = made.getBoundingClientRect()
  const [wide, tall] = [document.documentElement.clientWidth, innerHeight]
  const left = x + 16 + width > wide ? Math.min(x - 16 - width, wide - width - 6) : x + 16
  made.style.left = `${Math.max(6, left)}px`
  made.style.top = `${Math.max(6, y + 16 + height > tall ? y - 16 - height : y + 16)}px`
}
