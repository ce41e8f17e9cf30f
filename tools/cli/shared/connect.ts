import type { Command } from 'commander'
import { type Chain, type Client, createClient, defineChain, type HttpTransport, http } from 'viem'
import { getChainId } from 'viem/actions'
import { redactUrl } from '../../../src/errors/redactUrl.js'
import { isDevelopmentId, knownChain } from './chains.js'
import { badOption } from './commandLine.js'
import { Refusal } from './program.js'
import { whyUnanswered } from './unreachable.js'

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
  if (url.trim() === '')
    throw badOption(
      flags.rpc === undefined
        ? `The environment variable ${RPC_ENV} is empty. Set it to the URL of a node, or give --rpc URL.`
        : '--rpc is empty. It expects the URL of a node.',
    )
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
  /** `Base (chain 8453)`, or `chain 31337`. */
  readonly title: string
  /** Chain and origin, beside the word "chain": `Base (8453) at https://…`. Safe to print. */
  readonly name: string
  /** False for test networks and local chains. An unknown chain counts as one with real money. */
  readonly hasRealMoney: boolean
}

/** Batches reads, because a file may have thousands of lines. @throws Refusal if the node does not answer */
export async function connect(url: string): Promise<Connection> {
  const transport = http(url, { batch: true, retryCount: 2 })
  const plain = createClient({ transport })
  const id = await chainIdOf(plain).catch(async (error: unknown) => {
    throw new Refusal(
      `${redactUrl(url)} does not answer eth_chainId: ${sentence(await whyUnanswered(url, error))}`,
    )
  })
  const known = await knownChain(id)
  const chain = known ?? unknownChain(id, url)
  return {
    client: createClient({ chain, transport }),
    chain,
    title: known === undefined ? chain.name : `${chain.name} (chain ${id})`,
    name: `${known === undefined ? id : `${chain.name} (${id})`} at ${redactUrl(url)}`,
    hasRealMoney:
      known === undefined
        ? !(isDevelopmentId(id) || (isLoopback(url) && (await isDevelopmentNode(plain))))
        : known.testnet !== true,
  }
}

async function chainIdOf(client: Client<HttpTransport>): Promise<number> {
  const id = await getChainId(client)
  if (Number.isSafeInteger(id) && id > 0) return id
  throw new Error('no chain id')
}

const sentence = (text: string): string => (/[.?]$/.test(text) ? text : `${text}.`)

const isLoopback = (url: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)

/** A chain for development may have any id. */
async function isDevelopmentNode(client: Client<HttpTransport>): Promise<boolean> {
  const version = await client.request({ method: 'web3_clientVersion' }).catch(() => '')
  return /^(txlane-devnet|anvil|hardhat|ethereumjs|ganache)/i.test(version)
}

function unknownChain(id: number, url: string): Chain {
  return defineChain({
    id,
    name: `chain ${id}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
}
