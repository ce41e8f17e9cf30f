import type { Address } from 'viem'
import { shown } from '../words/cells.js'
import type { Resolved } from './names.js'

/** The address of an ICAP text (`XE…`), whose two digits after XE are checked. */
export async function fromIcap(text: string): Promise<Resolved | Error> {
  const { getAddress } = await import('ethers/address')
  try {
    return { address: getAddress(text) as Address }
  } catch {
    return new Error(
      `${shown(text)} is no address: its check digits or its length are wrong for an ICAP address. Copy it again, or write the address as 0x…`,
    )
  }
}
