import type { Held, NodeCase, Setting } from '../cases/nodeCase.js'
import type { NodeDescription } from '../nodes/description.js'
import { firstLine } from '../tools/firstLine.js'

export function isCovered(
  { isRefusal = false }: NodeCase,
  { refusalsAlone = false }: NodeDescription,
): boolean {
  return isRefusal || !refusalsAlone
}

/** The reason to skip the case on this node; undefined if it runs. */
export function leftOut(one: NodeCase, description: NodeDescription): string | undefined {
  const missing = (one.needs ?? []).find((ability) => description.lacks[ability] !== undefined)
  return missing === undefined ? one.leftOut?.(description) : description.lacks[missing]
}

/** Never rejects: an error becomes the case's result. */
export async function runCase(one: NodeCase, setting: Setting): Promise<Held> {
  try {
    return await one.run(setting)
  } catch (error) {
    return { ok: false, says: firstLine(error) }
  }
}
