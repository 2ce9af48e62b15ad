//! One table over all recordings: sealed ones as Parquet scans of the engine, journals through the recording's reader.

use crate::source::QuerySources;
use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, StringViewArray, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::object_store::ObjectMeta;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use std::sync::Arc;

/// Name of the column that tells the recordings apart.
pub(crate) const RECORDING: &str = "recording";

/// A table.
#[derive(Debug)]
pub(crate) struct RecordedTable {
    name: String,
    sources: Arc<QuerySources>,
    /// As in the files, and behind them the recording's name.
    schema: TableSchema,
}

impl RecordedTable {
    /// The table `name` with the columns `schema`.
    pub(crate) fn new(name: &str, schema: SchemaRef, sources: Arc<QuerySources>) -> Self {
        let recording = Arc::new(Field::new(RECORDING, DataType::Utf8View, false));
        Self {
            name: name.to_string(),
            sources,
            schema: TableSchema::builder(schema).with_table_partition_cols(vec![recording]).build(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Every file, and the rows of every journal.
    fn parts(&self) -> Result<(Vec<PartitionedFile>, Vec<RecordBatch>)> {
        let (mut files, mut batches) = (Vec::new(), Vec::new());
        for source in &self.sources.recordings {
            let reader = source.open().map_err(external)?;
            let sealed = reader.sealed_files(&self.name).map_err(external)?;
            if !sealed.is_empty() {
                // The engine reads the files by itself, and knows nothing of their checksums.
                reader.check_files(&self.name).map_err(external)?;
                // The store takes no `..`, which an absolute path may still have. Below the directory nothing is a link: that
                // was checked with the files.
                let directory = std::fs::canonicalize(reader.directory())?;
                for path in sealed {
                    let path = directory.join(path.strip_prefix(reader.directory()).unwrap_or(&path));
                    let metadata = std::fs::symlink_metadata(&path)?;
                    let meta = ObjectMeta {
                        location: ObjectPath::from_absolute_path(path)
                            .map_err(|error| DataFusionError::External(error.into()))?,
                        last_modified: metadata.modified()?.into(),
                        size: metadata.len(),
                        e_tag: None,
                        version: None,
                    };
                    let name = ScalarValue::Utf8View(Some(source.name.clone()));
                    files.push(PartitionedFile::new_from_meta(meta).with_partition_values(vec![name]));
                }
                continue;
            }
            for batch in reader.batches(&self.name).map_err(external)? {
                let batch = reader.add_time(&batch.map_err(external)?, &self.name).map_err(external)?;
                batches.push(self.fit(&batch, &source.name)?);
            }
        }
        Ok((files, batches))
    }

    /// A batch of a journal in this table's columns.
    fn fit(&self, batch: &RecordBatch, recording: &str) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for field in self.schema.file_schema().fields() {
            columns.push(match batch.column_by_name(field.name()) {
                Some(column) => cast(column, field.data_type())?,
                None => new_null_array(field.data_type(), rows),
            });
        }
        columns.push(Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n(recording, rows))));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema(), columns, &options)?)
    }
}

fn external(error: recording::RecordingError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[async_trait]
impl TableProvider for RecordedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (files, batches) = self.parts()?;
        let mut plans: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
        if !files.is_empty() {
            let options = state.default_table_options().parquet;
            let source = ParquetSource::new(self.schema.clone()).with_table_parquet_options(options);
            let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
                .with_file_group(FileGroup::new(files))
                .with_projection_indices(projection.cloned())?
                .with_limit(limit)
                .build();
            plans.push(DataSourceExec::from_data_source(config));
        }
        if !batches.is_empty() || plans.is_empty() {
            plans.push(MemorySourceConfig::try_new_exec(&[batches], self.schema(), projection.cloned())?);
        }
        if plans.len() == 1 { Ok(plans.swap_remove(0)) } else { UnionExec::try_new(plans) }
    }
}
