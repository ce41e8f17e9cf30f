import { type Address, isAddress, parseEther } from 'viem'

export type Row = { readonly id: string; readonly to: Address; readonly value: bigint }

/** `id, address, ether` on each line; empty lines and lines that begin with # are skipped. */
export function readRows(text: string): readonly Row[] {
  const seen = new Set<string>()
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const [id = '', to = '', ether = '', ...more] = line.split(',').map((cell) => cell.trim())
    const wrong = (what: string) => new Error(`line ${index + 1}: ${what}`)
    if (id === '' || more.length > 0) throw wrong('id, address, ether')
    // The same id twice would be one payment.
    if (seen.has(id)) throw wrong(`${id} is there twice`)
    seen.add(id)
    if (!isAddress(to)) throw wrong(`${to} is no address`)
    if (!/^\d+(?:\.\d{1,18})?$/.test(ether)) throw wrong(`${ether} is no amount of ether`)
    return [{ id, to, value: parseEther(ether) }]
  })
}
