/** The bundled PostgreSQL cannot run here. The message says why and what the operator can do; it ends the start. */
export class PostgresUnavailable extends Error {
  override name = 'PostgresUnavailable'
}
