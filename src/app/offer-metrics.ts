import { Gauge, type Registry } from 'prom-client'

/** How many versions of capabilities are blocked. */
export function sampleOffer(registry: Registry, standing: () => { readonly drifted: readonly string[] }): void {
  new Gauge({
    name: 'farebox_capability_versions_drifted',
    help: 'Versions of capabilities that differ from what was frozen, whose calls are refused: must be 0',
    registers: [registry],
    collect() {
      this.set(standing().drifted.length)
    },
  })
}
