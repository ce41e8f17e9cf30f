import { short } from '../model/words.js'
import type { PayloadLane } from '../payload.js'
import { button, type Child, element } from './dom.js'

/** A hash with a copy button, and a link where the chain has an explorer. */
export function hashText(hash: string, lane: PayloadLane | undefined, text = short(hash)): Node {
  return named(hash, text, 'hash', explorerUrl(lane, 'tx', hash))
}

/** The account of a lane, in full. */
export function addressText(lane: PayloadLane): Node {
  const { address } = lane
  return named(address, address, 'address', explorerUrl(lane, 'address', address))
}

/** A lane in one line of text. */
export function laneText(lane: PayloadLane | undefined): string {
  return lane === undefined ? '' : `${lane.chain.replace(/ \(.*/, '')}, ${short(lane.address)}`
}

export function explorerUrl(
  lane: PayloadLane | undefined,
  kind: 'tx' | 'address',
  value: string,
): string | undefined {
  const explorer = lane?.explorer
  return explorer && /^0x[0-9a-f]+$/i.test(value)
    ? `${explorer.replace(/\/$/, '')}/${kind}/${value}`
    : undefined
}

function named(value: string, text: string, what: string, href: string | undefined): Node {
  const code = element('code', text === value ? {} : { title: value }, text)
  const shown: Child =
    href === undefined ? code : element('a', { href, target: '_blank', rel: 'noreferrer' }, code)
  return element('span', { class: 'named' }, shown, copyButton(value, what))
}

/** Copies the value, and says so. */
export function copyButton(value: string, what: string): Node {
  const label = `Copy the ${what} ${short(value)}`
  const made = button('Copy', 'copy', () => void copy(), { 'aria-label': label })
  async function copy(): Promise<void> {
    const isCopied = await write(value)
    made.textContent = isCopied ? 'Copied' : 'Not allowed'
    made.setAttribute('aria-label', isCopied ? `Copied ${value}` : 'The browser does not allow copying')
    made.addEventListener('blur', restore, { once: true })
    made.addEventListener('pointerleave', restore, { once: true })
  }
  function restore(): void {
    made.textContent = 'Copy'
    made.setAttribute('aria-label', label)
  }
  return made
}

async function write(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value)
    return true
  } catch {
    // A page that was opened as a file has no clipboard in some browsers.
    const area = element('textarea', { style: 'position: fixed; opacity: 0' })
    area.value = value
    document.body.append(area)
    area.select()
    const isCopied = document.execCommand('copy')
    area.remove()
    return isCopied
  }
}
