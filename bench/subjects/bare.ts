import type { Hex } from 'viem'
import { nativeAccount } from '../../src/signer/index.js'
import { CHAIN_ID, givenTransfer } from '../support/node.js'
import type { Driver, Subject, World } from './types.js'

const CONNECTIONS = 4

/** The limit: signs natively, posts batches, and keeps no books. What is lost is lost. */
export const bareLoop: Subject = {
  name: 'limit: bare loop',
  given: 'gasAndFees',
  open(world): Driver {
    const sign = signerOf(world)
    return {
      async burst(count) {
        const post = createPosts(world.url)
        for (let first = 1; first <= count; first += 100) {
          const raws: Hex[] = []
          const last = Math.min(count, first + 99)
          for (let number = first; number <= last; number++) raws.push(await sign(number))
          await post.begin(raws)
        }
        await post.done()
      },
      close: async () => undefined,
    }
  },
}

/** What the node alone takes. */
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
        const post = createPosts(world.url)
        for (let first = 0; first < count; first += 50) await post.begin(raws.slice(first, first + 50))
        await post.done()
      },
      close: async () => undefined,
    }
  },
}

function signerOf({ privateKey }: World): (number: number) => Promise<Hex> {
  const account = nativeAccount(privateKey)
  return (number) =>
    account.signTransaction({
      type: 'eip1559',
      chainId: CHAIN_ID,
      nonce: number - 1,
      ...givenTransfer(number),
    })
}

/** Batches over so many connections. `begin` waits for a free one. */
function createPosts(url: string) {
  const open = new Set<Promise<void>>()
  return {
    async begin(raws: readonly Hex[]): Promise<void> {
      while (open.size >= CONNECTIONS) await Promise.race(open)
      const posted: Promise<void> = postBatch(url, raws).finally(() => open.delete(posted))
      posted.catch(() => undefined)
      open.add(posted)
    },
    async done(): Promise<void> {
      await Promise.all(open)
    },
  }
}

type Answer = { readonly result?: unknown; readonly error?: { readonly message: string } }

async function postBatch(url: string, raws: readonly Hex[]): Promise<void> {
  const calls = raws.map((raw, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_sendRawTransaction',
    params: [raw],
  }))
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(calls) })
  for (const { result, error } of (await response.json()) as Answer[])
    if (typeof result !== 'string') throw new Error(error?.message ?? 'no hash came back')
}
