import { type Hex, numberToHex } from 'viem'
import { nativeAccount } from '../../src/signer/index.js'
import { givenTransfer } from '../support/node.js'
import type { Driver, Subject, World } from './types.js'

const CONNECTIONS = 4
const SEND = 'eth_sendRawTransaction'

/** The limit: native signing and batches without bookkeeping. Lost transactions stay lost. */
export const bareLoop: Subject = {
  name: 'limit: bare loop',
  given: 'gasAndFees',
  open(world): Driver {
    const sign = signerOf(world)
    return {
      async burst(count) {
        const post = createPosts()
        for (let first = 1; first <= count; first += 100) {
          const raws: Hex[] = []
          const last = Math.min(count, first + 99)
          for (let number = first; number <= last; number++) raws.push(await sign(number))
          await post.begin(() => postBatch(world.url, SEND, raws))
        }
        await post.done()
      },
      close: async () => undefined,
    }
  },
}

/** The limit with unknown gas: estimates gas in batches too. */
export const bareLoopEstimating: Subject = {
  name: 'limit: bare loop',
  given: 'nothing',
  open(world): Driver {
    const account = nativeAccount(world.privateKey)
    const sign = signerOf(world)
    async function estimated(first: number, last: number): Promise<void> {
      const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
      const asked = numbers.map((number) => {
        const { to, value } = givenTransfer(number)
        return { from: account.address, to, value: numberToHex(value) }
      })
      const gas = await postBatch(world.url, 'eth_estimateGas', asked)
      const raws: Hex[] = []
      for (const [index, number] of numbers.entries()) raws.push(await sign(number, BigInt(gas[index] ?? 0)))
      await postBatch(world.url, SEND, raws)
    }
    return {
      async burst(count) {
        const post = createPosts()
        for (let first = 1; first <= count; first += 100)
          await post.begin(() => estimated(first, Math.min(count, first + 99)))
        await post.done()
      },
      close: async () => undefined,
    }
  },
}

/** The limit of the node alone. */
export const presignedBatches: Subject = {
  name: 'limit: signed beforehand',
  given: 'gasAndFees',
  open(world): Driver {
    const sign = signerOf(world)
    const raws: Hex[] = []
    return {
      async ready() {
        for (let number = 1; number <= world.count; number++) raws.push(await sign(number))
      },
      async burst(count) {
        const post = createPosts()
        for (let first = 0; first < count; first += 50)
          await post.begin(() => postBatch(world.url, SEND, raws.slice(first, first + 50)))
        await post.done()
      },
      close: async () => undefined,
    }
  },
}

export function signerOf({ privateKey, chain }: World): (number: number, gas?: bigint) => Promise<Hex> {
  const account = nativeAccount(privateKey)
  return (number, gas) =>
    account.signTransaction({
      type: 'eip1559',
      chainId: chain.id,
      nonce: number - 1,
      ...givenTransfer(number),
      ...(gas === undefined ? {} : { gas }),
    })
}

/** Batches over `CONNECTIONS` connections. `begin` waits for a free one. */
function createPosts() {
  const open = new Set<Promise<void>>()
  return {
    async begin(post: () => Promise<unknown>): Promise<void> {
      while (open.size >= CONNECTIONS) await Promise.race(open)
      const posted: Promise<void> = post().then(
        () => void open.delete(posted),
        (error: unknown) => {
          open.delete(posted)
          throw error
        },
      )
      posted.catch(() => undefined)
      open.add(posted)
    },
    async done(): Promise<void> {
      await Promise.all(open)
    },
  }
}

type Answer = { readonly result?: unknown; readonly error?: { readonly message: string } }

/**
 * Posts one batch and returns the results in order.
 * @throws Error with the node's message if a result is missing
 */
export async function postBatch(
  url: string,
  method: string,
  asked: readonly unknown[],
): Promise<readonly string[]> {
  const calls = asked.map((one, id) => ({ jsonrpc: '2.0', id, method, params: [one] }))
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(calls) })
  const answers = (await response.json()) as Answer[]
  return answers.map(({ result, error }) => {
    if (typeof result !== 'string') throw new Error(error?.message ?? 'no result')
    return result
  })
}
