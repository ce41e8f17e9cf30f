/** A minimum that a node names, above the ceiling of what is offered; both in wei for a unit of gas. */
export type AboveCeiling = { readonly neededWei: bigint; readonly ceilingWei: bigint }

/** In words, for an error or a hold. */
export function describeAboveCeiling({ neededWei, ceilingWei }: AboveCeiling): string {
  return `The node takes no less than ${neededWei} wei for a unit of gas, and the ceiling is ${ceilingWei} wei.`
}
