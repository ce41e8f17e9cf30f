import type { Hex } from 'viem'
import { judge, takeCensus } from '../sim/oracle.js'
import { programOf } from '../sim/program.js'
import { decodeTransaction } from '../sim/transaction.js'
import type { Caller } from './caller.js'
import { LANE, type World } from './world.js'

/** What was promised and not kept, read from the chain, the wire and what the caller was told. */
export function broken(world: World, caller: Caller): string[] {
  const judged = judge(takeCensus(world.chain, LANE), caller.markers, caller.tellings)
  return [
    ...judged.map(({ promise, marker, text }) => `${promise}: ${marker ?? ''} ${text}`),
    ...caller.faults.map((text) => `P8: not a typed error: ${text}`),
    ...[...caller.open].map((name) => `P8: ${name} is still open`),
  ]
}

/** Watches the wire: what leaves has to be in the store by then. */
export function watchWire(world: World): { readonly broken: readonly string[] } {
  const found: string[] = []
  world.port.onRequest = (calls) => {
    for (const { method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue
      const raw = params[0] as Hex
      if (!world.store.journaled.has(raw)) found.push(`P6: ${nameOf(raw)} left before it was in the store`)
    }
  }
  return { broken: found }
}

function nameOf(raw: Hex): string {
  const tx = decodeTransaction(raw)
  if (tx === undefined) return raw.slice(0, 20)
  return `nonce ${tx.nonce} of ${programOf(tx)?.marker ?? 'a no-op'}`
}
