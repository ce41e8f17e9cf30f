import type { Command } from 'commander'
import { type Chain, type Client, createClient, defineChain, type HttpTransport, http } from 'viem'
import { getChainId } from 'viem/actions'
import { redactUrl } from '../../../src/errors/redactUrl.js'
import { knownChain } from './chains.js'
import { badOption } from './commandLine.js'
import { Refusal } from './program.js'

const RPC_ENV = 'TXLANE_RPC_URL'

export type RpcFlags = { readonly rpc?: string }

export function rpcFlag(command: Command): Command {
  return command.option('--rpc <url>', `HTTP URL of the node (default: the environment variable ${RPC_ENV})`)
}

/**
 * @throws badOption if the URL is missing or not an HTTP URL. The URL is never printed, because it may
 * contain an API key.
 */
export function rpcUrl(flags: RpcFlags, environment: Readonly<Record<string, string | undefined>>): string {
  const url = flags.rpc ?? environment[RPC_ENV]
  if (url === undefined) throw badOption(`The URL of a node is missing. Give --rpc URL, or set ${RPC_ENV}.`)
  if (!isHttpUrl(url)) throw badOption('--rpc expects a URL that begins with http:// or https://.')
  return url
}

export function isHttpUrl(text: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(text).protocol)
  } catch {
    return false
  }
}

export type Connection = {
  readonly client: Client<HttpTransport, Chain>
  readonly chain: Chain
  /** Origin and chain: safe to print. */
  readonly name: string
}

/** Batches reads, because a file may have thousands of lines. @throws Refusal if the node does not answer */
export async function connect(url: string): Promise<Connection> {
  const transport = http(url, { batch: true, retryCount: 2 })
  const id = await getChainId(createClient({ transport })).catch(() => {
    throw new Refusal(`${redactUrl(url)} does not answer eth_chainId.`)
  })
  const chain = await chainOf(id, url)
  return {
    client: createClient({ chain, transport }),
    chain,
    name: `${chain.name === `chain ${id}` ? chain.name : `${chain.name} (chain ${id})`} at ${redactUrl(url)}`,
  }
}

/** viem's chain definition if viem knows the id, with its fee and format settings, else a minimal one. */
async function chainOf(id: number, url: string): Promise<Chain> {
  const found = await knownChain(id)
  if (found) return found
  return defineChain({
    id,
    name: `chain ${id}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
}
