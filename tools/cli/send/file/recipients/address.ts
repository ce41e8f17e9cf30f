import type { Address } from 'viem'
import { keccak } from '../../../shared/keccak.js'
import { clean, shown } from '../words/cells.js'
import { chainIdOf, chainText } from './chainPrefixes.js'

/** A recipient as it is written: an address, or a text that has to be resolved first. */
export type Recipient =
  | { readonly kind: 'address'; readonly address: Address }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'icap'; readonly text: string }

export type PayingChain = { readonly id: number; readonly name: string }

/** @throws Error with a reason for the user */
export function recipientOf(cell: string, chain: PayingChain): Recipient {
  const text = clean(cell).replace(/^'/, '')
  if (text === '') throw new Error('has no recipient: write one, or delete the line')
  const at = text.indexOf(':')
  if (at < 0) return withoutPrefix(text)
  if (/^https?:/i.test(text)) throw new Error(`${shown(text)} is a link: write the address alone`)
  return withoutPrefix(afterPrefix(text, chain))
}

/** `eth:0x…`, `eip155:1:0x…` and `ethereum:0x…@1` name the chain for which the address is meant. */
function afterPrefix(text: string, chain: PayingChain): string {
  const [, prefix = '', reference, body = '', id] =
    /^([a-z][a-z0-9-]*):(?:(\d+):)?(?:pay-)?([^@?/\s]+)(?:@(\d+))?$/i.exec(text) ?? []
  if (body === '') throw new Error(`${shown(text)} is no address${remedyOf(text)}`)
  const meant = Number(reference ?? id ?? chainIdOf(prefix) ?? Number.NaN)
  if (Number.isNaN(meant))
    throw new Error(
      `${shown(text)} begins with ${shown(`${prefix}:`)}, which names no known chain: write the address alone if it is on ${chain.name}`,
    )
  if (meant !== chain.id)
    throw new Error(`${shown(text)} is meant for chain ${meant}, and this is ${chainText(chain)}`)
  return body
}

function withoutPrefix(text: string): Recipient {
  if (/^(?:0x)?[0-9a-f]{40}$/i.test(text)) return { kind: 'address', address: addressOf(text) }
  if (/^XE\d\d[0-9a-z]*$/i.test(text)) return { kind: 'icap', text: text.toUpperCase() }
  // The text may be a key, so it is not printed.
  if (/^(?:0x)?[0-9a-f]{64}$/i.test(text))
    throw new Error('has a recipient of 64 hexadecimal digits, and an address has 40')
  const [, digits] = /^0x([0-9a-f]*)$/i.exec(text) ?? []
  if (digits !== undefined)
    throw new Error(
      `${shown(text)} is no address: it has ${digits.length} hexadecimal digits, and an address has 40`,
    )
  if (/^[^\s,;:/@\\]+\.[^\s,;:/@\\.]+$/.test(text) && !/^[\d.]+$/.test(text))
    return { kind: 'name', name: text }
  throw new Error(`${shown(text)} is no address${remedyOf(text)}`)
}

/** Texts that people write in place of an address, and the right form of each. */
const NOT_ALONE: readonly (readonly [form: RegExp, remedy: string])[] = [
  [/(?:0x[0-9a-f]{40}.*){2}/i, ': it has two, write a line for each'],
  [/0x[0-9a-f]{40}/i, ' alone: write the address without the rest'],
  [/^[0o]x[0-9a-fo]{40}$/i, ': it has the letter O in place of the digit 0. Copy it again'],
  [/^0x[0-9a-f]+(?:…|\.{2,3}|\*{2,})[0-9a-f]*$/i, ', but the ends of one: copy the whole address'],
  [/^0x[0-9a-f\s]+$/i, ': it has a blank inside. Copy it again'],
  [/^(?:total|subtotal)\b/i, ': delete the line if it is a sum'],
  [/^https?:/i, ''],
]

const remedyOf = (text: string): string =>
  NOT_ALONE.find(([form]) => form.test(text))?.[1] ??
  ': write 0x and 40 hexadecimal digits, or an ENS name; delete the line if it is no payment'

/** All small or all capital letters carry no checksum; mixed ones have to be right. */
function addressOf(text: string): Address {
  const digits = text.slice(-40)
  const address = checksummed(digits.toLowerCase())
  if (address === text) return text as Address
  if (address.endsWith(digits) || digits === digits.toLowerCase() || digits === digits.toUpperCase())
    return address
  throw new Error(`${shown(text)} has a wrong checksum: a character is wrong. Copy the address again`)
}

const LETTERS_FROM = 'a'.charCodeAt(0)
const TO_CAPITAL = 'A'.charCodeAt(0) - LETTERS_FROM

// As checksumAddress of viem, in half of its time: this is most of the time of a large file.
function checksummed(small: string): Address {
  const bytes = Buffer.from(small, 'latin1')
  const hash = keccak(bytes)
  for (let index = 0; index < bytes.length; index++) {
    const nibble = ((hash[index >> 1] as number) >> (index % 2 === 0 ? 4 : 0)) & 0xf
    const code = bytes[index] as number
    if (nibble >= 8 && code >= LETTERS_FROM) bytes[index] = code + TO_CAPITAL
  }
  return `0x${bytes.toString('latin1')}`
}
