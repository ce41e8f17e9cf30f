/** Copies the address or hash beside a copy button, and reports it to screen readers and, for a while, on the button. */
export function copyOnClick(said: HTMLElement): void {
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element)) return
    const button = target.closest('button.copy')
    const text = button?.previousElementSibling?.getAttribute('title')
    if (!(button instanceof HTMLElement) || !text) return
    void copy(text).then((isDone) => {
      said.textContent = isDone ? `Copied: ${text}` : `Not copied. The text is: ${text}`
      for (const other of document.querySelectorAll('.copied')) other.classList.remove('copied')
      if (isDone) button.classList.add('copied')
    })
  })
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // A browser without permission, or a page without a secure origin.
    return copySelected(text)
  }
}

function copySelected(text: string): boolean {
  const field = document.createElement('textarea')
  const before = document.activeElement
  field.value = text
  field.className = 'unseen'
  document.body.append(field)
  field.select()
  const isDone = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isDone
}
