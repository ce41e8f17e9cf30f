import { type Address, type Client, type Hex, keccak256, parseAbi, size, slice } from 'viem'
import { getCode } from 'viem/actions'
import { Refusal } from '../../../shared/program.js'

/** The functions of a disperse contract that a pack calls, and those that draw on an approval. */
export const DISPERSE = parseAbi([
  'function disperseEther(address[] recipients, uint256[] values) payable',
  'function disperseToken(address token, address[] recipients, uint256[] values)',
  'function disperseTokenSimple(address token, address[] recipients, uint256[] values)',
])

export type Disperse = {
  readonly address: Address
  readonly code: Hex
  /** The code is that of the published contract, which only ever draws from its caller. */
  readonly isKnown: boolean
}

/** The addresses of the published contract: its first deployment, and the one of its deterministic deployment. */
const KNOWN_ADDRESSES: readonly Address[] = [
  '0xD152f549545093347A162Dce210e7293f1452150',
  '0xd15fE25eD0Dba12fE05e7029C88b10C25e8880E3',
]

/** The hash of the published code (solc 0.4.25) without the metadata that the compiler appends. */
const KNOWN_CODE_HASH: Hex = '0xab5361a2ceb73b9f4ae4dc31c9079082571483cbd6115cc3010aa93963634d6b'

/** Metadata of solc 0.4: `a1 65 "bzzr0" 58 20`, a hash of the sources, and the length. */
const METADATA_BYTES = 43
const METADATA = /a165627a7a72305820[0-9a-f]{64}0029$/

export function isKnownCode(code: Hex, hash = KNOWN_CODE_HASH): boolean {
  return keccak256(code) === hash || (METADATA.test(code) && keccak256(withoutMetadata(code)) === hash)
}

const withoutMetadata = (code: Hex) => slice(code, 0, size(code) - METADATA_BYTES)

/**
 * Finds the contract that pays several rows in one transaction. `asked` is an address that the user chose; its
 * code may be another.
 * @throws Refusal if there is none
 */
export async function findDisperse(
  client: Client,
  chainName: string,
  asked: Address | undefined,
): Promise<Disperse> {
  for (const address of asked === undefined ? KNOWN_ADDRESSES : [asked]) {
    const code = await getCode(client, { address })
    if (code === undefined) continue
    const isKnown = isKnownCode(code)
    if (isKnown || asked !== undefined) return { address, code, isKnown }
  }
  if (asked !== undefined)
    throw new Refusal(`--disperse ${asked}: there is no contract at this address on ${chainName}.`)
  throw new Refusal(
    `--pack: ${chainName} has no disperse contract with the published code at ${KNOWN_ADDRESSES.join(' or ')}. Give another one with --disperse ADDRESS, or leave --pack out.`,
  )
}
