import { type Address, type Chain, type Client, createClient, custom, type Transport } from 'viem'
import { getEnsAddress, getEnsName } from 'viem/actions'
import { normalize } from 'viem/ens'
import { shown } from '../words/cells.js'

export type Resolved = { readonly name?: string; readonly address: Address }
/** The results by the text in the file: an address, or the reason why there is none. */
export type Resolutions = ReadonlyMap<string, Resolved | Error>

// Resolutions that wait for the node at the same time. Each batch of calls has up to this much calldata.
const AT_ONCE = 500
const BATCH_BYTES = 16_384

/**
 * Resolves ENS names, many in one call. Names in `known` are not resolved: an earlier run has paid to these
 * addresses.
 */
export async function resolveNames(
  texts: readonly string[],
  { client, chain }: { readonly client: Client<Transport, Chain>; readonly chain: Chain },
  known: ReadonlyMap<string, Address>,
): Promise<Resolutions> {
  const found = new Map<string, Resolved | Error>()
  const open = new Map<string, string[]>()
  for (const text of texts) {
    const name = normalized(text)
    const address = name instanceof Error ? undefined : known.get(name)
    if (name instanceof Error) found.set(text, name)
    else if (address !== undefined) found.set(text, { name, address })
    else if (chain.contracts?.ensUniversalResolver === undefined)
      found.set(text, new Error(`${shown(text)} is a name, and ${chain.name} has no ENS: write the address`))
    else open.set(name, [...(open.get(name) ?? []), text])
  }
  const batched = batching(client, chain)
  const names = [...open.keys()]
  for (let from = 0; from < names.length; from += AT_ONCE) {
    await Promise.all(
      names.slice(from, from + AT_ONCE).map(async (name) => {
        const result = await lookUp(batched, name)
        for (const text of open.get(name) ?? []) found.set(text, result)
      }),
    )
  }
  return found
}

/** The names that the addresses have chosen for themselves. */
export async function namesOf(
  addresses: readonly Address[],
  { client, chain }: { readonly client: Client<Transport, Chain>; readonly chain: Chain },
): Promise<ReadonlyMap<Address, string>> {
  const batched = batching(client, chain)
  const pairs = await Promise.all(
    addresses.map(
      async (address) => [address, await getEnsName(batched, { address }).catch(() => null)] as const,
    ),
  )
  return new Map(pairs.flatMap(([address, name]) => (name === null ? [] : [[address, name]])))
}

function normalized(text: string): string | Error {
  try {
    return normalize(text)
  } catch {
    return new Error(`${shown(text)} is no valid name: it has characters that ENS does not allow`)
  }
}

function batching(client: Client<Transport, Chain>, chain: Chain): Client<Transport, Chain> {
  const transport = custom({ request: client.request as never }, { retryCount: 0 })
  return createClient({ chain, transport, batch: { multicall: { batchSize: BATCH_BYTES } } })
}

async function lookUp(client: Client<Transport, Chain>, name: string): Promise<Resolved | Error> {
  try {
    const address = await getEnsAddress(client, { name })
    return address === null ? new Error(`${shown(name)} has no address in ENS`) : { name, address }
  } catch (error) {
    const why = (error as { shortMessage?: string }).shortMessage ?? 'the node did not answer'
    return new Error(`${shown(name)} was not resolved: ${why}`)
  }
}
