/** The command that starts a node on this loopback port. */
export type NodeCommand = (port: number) => {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
}
