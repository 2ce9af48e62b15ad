//! The recordings as a database: catalogue, functions, and one statement at a time.

use crate::source::{QuerySources, RECORDINGS};
use crate::table::RecordedTable;
use crate::{QueryError, functions, time_columns, units};
use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray, TimestampNanosecondArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{CatalogProvider, MemTable, MemoryCatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The recordings, ready to be asked.
pub struct Database {
    context: SessionContext,
    sources: Arc<QuerySources>,
    tables: BTreeSet<String>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("sources", &self.sources).finish_non_exhaustive()
    }
}

/// An answer on its way.
pub struct QueryAnswer {
    /// Names and types of its columns.
    pub schema: SchemaRef,
    /// Units of its columns, where they are known.
    pub units: Vec<Option<String>>,
    /// Its rows.
    pub rows: SendableRecordBatchStream,
}

impl std::fmt::Debug for QueryAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("schema", &self.schema).field("units", &self.units).finish_non_exhaustive()
    }
}

impl Database {
    /// A database of these recordings.
    ///
    /// # Errors
    /// A recording cannot be read.
    pub fn new(sources: QuerySources) -> Result<Self, QueryError> {
        let mut config =
            SessionConfig::new().with_information_schema(true).with_default_catalog_and_schema("iodyno", "public");
        let options = config.options_mut();
        // For a caret under what is wrong.
        options.sql_parser.collect_spans = true;
        options.execution.parquet.pushdown_filters = true;
        let context = SessionContext::new_with_config(config);
        functions::aggregates().into_iter().for_each(|function| context.register_udaf(function));
        functions::scalars().into_iter().for_each(|function| context.register_udf(function));
        let tables = sources.tables()?;
        let sources = Arc::new(sources);
        let catalog = MemoryCatalogProvider::new();
        catalog.register_schema("public", Arc::new(Tables { sources: Arc::clone(&sources), names: tables.clone() }))?;
        context.register_catalog("iodyno", Arc::new(catalog));
        Ok(Self { context, sources, tables })
    }

    /// Names of the tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> + Clone {
        self.tables.iter().map(String::as_str)
    }

    /// Names of the recordings, as in the column `recording`.
    pub fn recordings(&self) -> impl Iterator<Item = &str> {
        self.sources.recordings.iter().map(|source| source.name.as_str())
    }

    /// Columns of a table.
    ///
    /// # Errors
    /// No such table, or a recording that cannot be read.
    pub fn schema(&self, table: &str) -> Result<SchemaRef, QueryError> {
        match table_of(&self.sources, table)? {
            Some(table) => Ok(table.schema()),
            None => Err(QueryError::unknown_table(table, self.tables())),
        }
    }

    /// Names of all functions of the engine, ours included.
    #[must_use]
    pub fn functions(&self) -> BTreeSet<String> {
        let state = self.context.state();
        let names = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        names.chain(state.window_functions().keys()).cloned().collect()
    }

    /// Begins to answer one statement.
    ///
    /// # Errors
    /// A mistake in the statement, with the place where it is; a recording that cannot be read.
    pub async fn ask(&self, sql: &str) -> Result<QueryAnswer, QueryError> {
        let explain = |error: DataFusionError| QueryError::explain(error, sql, &|| self.functions());
        let state = self.context.state();
        let dialect = state.config().options().sql_parser.dialect;
        let statement = state.sql_to_statement(sql, &dialect).map_err(explain)?;
        for name in state.resolve_table_references(&statement).map_err(explain)? {
            if name.schema().is_none_or(|schema| schema == "public") && !self.tables.contains(name.table()) {
                return Err(QueryError::unknown_table(name.table(), self.tables()).at_word(sql, name.table()));
            }
        }
        let plan = state.statement_to_plan(statement).await.map_err(explain)?;
        SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false)
            .verify_plan(&plan)
            .map_err(|_| QueryError::ReadOnly)?;
        let units = units::of_plan(&plan);
        let frame = self.context.execute_logical_plan(plan).await.map_err(explain)?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        let rows = frame.execute_stream().await.map_err(explain)?;
        Ok(QueryAnswer { schema, units, rows })
    }
}

/// Makes a table when a statement names it.
#[derive(Debug)]
struct Tables {
    sources: Arc<QuerySources>,
    names: BTreeSet<String>,
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        table_of(&self.sources, name).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

fn table_of(sources: &Arc<QuerySources>, name: &str) -> Result<Option<Arc<dyn TableProvider>>, QueryError> {
    if name == RECORDINGS {
        return recordings(sources).map(|table| Some(Arc::new(table) as _));
    }
    let Some(schema) = sources.schema(name)? else { return Ok(None) };
    let table = RecordedTable::new(name, schema, Arc::clone(sources));
    Ok(Some(time_columns::complete(table, sources)?))
}

/// One row per recording, from its manifest.
fn recordings(sources: &QuerySources) -> Result<MemTable, QueryError> {
    let mut rows = Vec::new();
    for source in &sources.recordings {
        let reader = source.open()?;
        rows.push((
            source.name.clone(),
            source.directory.display().to_string(),
            reader.state().words(),
            reader.manifest().clone(),
        ));
    }
    let text = |values: Vec<Option<String>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let started = rows.iter().map(|row| row.3.started_wall_ns).collect::<Vec<_>>();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("recording", text(rows.iter().map(|row| Some(row.0.clone())).collect())),
        ("directory", text(rows.iter().map(|row| Some(row.1.clone())).collect())),
        ("state", text(rows.iter().map(|row| Some(row.2.to_string())).collect())),
        ("exit", text(rows.iter().map(|row| row.3.exit.as_ref().map(ToString::to_string)).collect())),
        ("started", Arc::new(TimestampNanosecondArray::from(started).with_timezone("+00:00"))),
        ("started_t_ns", Arc::new(rows.iter().map(|row| row.3.started_t_ns).collect::<Int64Array>())),
        ("host", text(rows.iter().map(|row| Some(row.3.host.clone())).collect())),
        ("kernel", text(rows.iter().map(|row| Some(row.3.kernel.clone())).collect())),
        ("program", text(rows.iter().map(|row| Some(row.3.program.clone())).collect())),
        ("command_line", text(rows.iter().map(|row| Some(row.3.command_line.join(" "))).collect())),
        ("id", text(rows.iter().map(|row| Some(row.3.id.clone())).collect())),
    ];
    let batch = RecordBatch::try_from_iter(columns).map_err(DataFusionError::from)?;
    Ok(MemTable::try_new(batch.schema(), vec![vec![batch]])?)
}
