<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="es" sourcelanguage="en">
<context>
    <name>RoadSeg</name>
    <message>
        <source>Runtime</source>
        <translation>Entorno de ejecución</translation>
    </message>
    <message>
        <source>Set up runtime</source>
        <translation>Configurar el entorno de ejecución</translation>
    </message>
    <message>
        <source>install,python,environment,pip,dependencies,pytorch,torch</source>
        <translation>instalar,configurar,python,entorno,pip,dependencias,pytorch,torch</translation>
    </message>
    <message>
        <source>Packages</source>
        <translation>Paquetes</translation>
    </message>
    <message>
        <source>Extra index URL</source>
        <translation>URL de un índice de paquetes adicional</translation>
    </message>
    <message>
        <source>Index URL</source>
        <translation>URL del índice de paquetes</translation>
    </message>
    <message>
        <source>Folder of wheels</source>
        <translation>Carpeta de paquetes wheel</translation>
    </message>
    <message>
        <source>Also install</source>
        <translation>Instalar también</translation>
    </message>
    <message>
        <source>Rebuild</source>
        <translation>Crear de nuevo</translation>
    </message>
    <message>
        <source>Base Python</source>
        <translation>Python de base</translation>
    </message>
    <message>
        <source>The runtime's Python</source>
        <translation>Python del entorno de ejecución</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>Versiones</translation>
    </message>
    <message>
        <source>Profile this computer</source>
        <translation>Perfilar este equipo</translation>
    </message>
    <message>
        <source>performance,speed,benchmark,bottleneck,roofline,flame graph,trace,cpu,memory bandwidth,optimize</source>
        <translation>rendimiento,velocidad,benchmark,cuello de botella,roofline,gráfico de llamas,traza,cpu,procesador,ancho de banda de memoria,optimizar</translation>
    </message>
    <message>
        <source>Image</source>
        <translation>Imagen</translation>
    </message>
    <message>
        <source>What to profile</source>
        <translation>Qué perfilar</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modelo</translation>
    </message>
    <message>
        <source>Time (s)</source>
        <translation>Tiempo (s)</translation>
    </message>
    <message>
        <source>Try the advice</source>
        <translation>Probar los consejos</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>Hilos</translation>
    </message>
    <message>
        <source>Chip size (px)</source>
        <translation>Tamaño de los recortes (px)</translation>
    </message>
    <message>
        <source>Batch size</source>
        <translation>Tamaño del lote</translation>
    </message>
    <message>
        <source>Gradient accumulation</source>
        <translation>Acumulación de gradientes</translation>
    </message>
    <message>
        <source>Recompute activations</source>
        <translation>Recalcular activaciones</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimizador</translation>
    </message>
    <message>
        <source>Frozen stages</source>
        <translation>Etapas congeladas</translation>
    </message>
    <message>
        <source>Batch norm</source>
        <translation>Normalización por lotes</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Motor</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Precisión</translation>
    </message>
    <message>
        <source>Tile size (px)</source>
        <translation>Tamaño de tesela (px)</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>Informe</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>Perfil</translation>
    </message>
    <message>
        <source>Trace</source>
        <translation>Traza</translation>
    </message>
    <message>
        <source>Time of a step (s)</source>
        <translation>Tiempo por paso (s)</translation>
    </message>
    <message>
        <source>Images per second</source>
        <translation>Imágenes por segundo</translation>
    </message>
    <message>
        <source>Fraction of the processor's peak</source>
        <translation>Proporción del rendimiento máximo del procesador</translation>
    </message>
    <message>
        <source>Unaccounted fraction of the step</source>
        <translation>Proporción del paso sin atribuir</translation>
    </message>
    <message>
        <source>Profiling overhead, as a fraction of the step</source>
        <translation>Sobrecoste del perfilado, como proporción del paso</translation>
    </message>
    <message>
        <source>Engine used</source>
        <translation>Motor utilizado</translation>
    </message>
    <message>
        <source>Precision used</source>
        <translation>Precisión utilizada</translation>
    </message>
    <message>
        <source>Compare profiles</source>
        <translation>Comparar perfiles</translation>
    </message>
    <message>
        <source>performance,speed,benchmark,regression,before,after,faster,slower,difference</source>
        <translation>rendimiento,velocidad,benchmark,regresión,antes,después,más rápido,más lento,diferencia</translation>
    </message>
    <message>
        <source>Profile after</source>
        <translation>Perfil después</translation>
    </message>
    <message>
        <source>Profile before</source>
        <translation>Perfil antes</translation>
    </message>
    <message>
        <source>Differences</source>
        <translation>Diferencias</translation>
    </message>
    <message>
        <source>Time of a step before (s)</source>
        <translation>Tiempo por paso, antes (s)</translation>
    </message>
    <message>
        <source>Time of a step after (s)</source>
        <translation>Tiempo por paso, después (s)</translation>
    </message>
    <message>
        <source>Ratio of the times, after to before</source>
        <translation>Cociente de los tiempos, después entre antes</translation>
    </message>
    <message>
        <source>Report a problem</source>
        <translation>Informar de un problema</translation>
    </message>
    <message>
        <source>bug,error,issue,support,log,versions,diagnostics</source>
        <translation>error,fallo,problema,incidencia,ayuda,registro,versiones,diagnóstico</translation>
    </message>
    <message>
        <source>Include file paths</source>
        <translation>Incluir rutas de archivos</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Entrenamiento</translation>
    </message>
    <message>
        <source>Create label layers</source>
        <translation>Crear capas de etiquetas</translation>
    </message>
    <message>
        <source>draw,digitize,annotate,label,area of interest,aoi,new layer,geopackage,form,road</source>
        <translation>dibujar,digitalizar,anotar,etiquetar,área de interés,aoi,capa nueva,geopackage,formulario,carretera,vía</translation>
    </message>
    <message>
        <source>Width of a new road (m)</source>
        <translation>Ancho de una vía nueva (m)</translation>
    </message>
    <message>
        <source>Road classes</source>
        <translation>Clases de vía</translation>
    </message>
    <message>
        <source>Extent</source>
        <translation>Extensión</translation>
    </message>
    <message>
        <source>Label layers</source>
        <translation>Capas de etiquetas</translation>
    </message>
    <message>
        <source>Area of interest</source>
        <translation>Área de interés</translation>
    </message>
    <message>
        <source>No road here</source>
        <translation>Aquí no hay vía</translation>
    </message>
    <message>
        <source>Fine-tune a model</source>
        <translation>Ajustar un modelo</translation>
    </message>
    <message>
        <source>train,learn,model,deep learning,neural network,road</source>
        <translation>entrenar,aprender,ajuste fino,fine-tuning,modelo,aprendizaje profundo,red neuronal,carretera,vía</translation>
    </message>
    <message>
        <source>Images</source>
        <translation>Imágenes</translation>
    </message>
    <message>
        <source>Drawn roads</source>
        <translation>Vías dibujadas</translation>
    </message>
    <message>
        <source>Label masks</source>
        <translation>Máscaras de etiquetas</translation>
    </message>
    <message>
        <source>Road width field</source>
        <translation>Campo del ancho de vía</translation>
    </message>
    <message>
        <source>Time budget (min)</source>
        <translation>Tiempo disponible (min)</translation>
    </message>
    <message>
        <source>Road width (m)</source>
        <translation>Ancho de vía (m)</translation>
    </message>
    <message>
        <source>Base model</source>
        <translation>Modelo base</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Reanudar</translation>
    </message>
    <message>
        <source>Sure field</source>
        <translation>Campo de vías seguras</translation>
    </message>
    <message>
        <source>Road class field</source>
        <translation>Campo de la clase de vía</translation>
    </message>
    <message>
        <source>Speed field</source>
        <translation>Campo de velocidad</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Dispositivo</translation>
    </message>
    <message>
        <source>Processes</source>
        <translation>Procesos</translation>
    </message>
    <message>
        <source>Exchange precision</source>
        <translation>Precisión del intercambio</translation>
    </message>
    <message>
        <source>Pipeline stages</source>
        <translation>Etapas de la canalización</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Pasos</translation>
    </message>
    <message>
        <source>Sample</source>
        <translation>Muestra</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Tasa de aprendizaje</translation>
    </message>
    <message>
        <source>Encoder learning rate</source>
        <translation>Tasa de aprendizaje del codificador</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Semilla</translation>
    </message>
    <message>
        <source>Background distance (m)</source>
        <translation>Distancia de fondo (m)</translation>
    </message>
    <message>
        <source>Road values</source>
        <translation>Valores de carretera</translation>
    </message>
    <message>
        <source>Ignored values</source>
        <translation>Valores ignorados</translation>
    </message>
    <message>
        <source>Pixel size (m)</source>
        <translation>Tamaño de píxel (m)</translation>
    </message>
    <message>
        <source>Move roads onto the images</source>
        <translation>Mover las vías sobre las imágenes</translation>
    </message>
    <message>
        <source>Bands</source>
        <translation>Bandas</translation>
    </message>
    <message>
        <source>Ground resolution (m)</source>
        <translation>Resolución sobre el terreno (m)</translation>
    </message>
    <message>
        <source>Weight interpolation</source>
        <translation>Interpolación de los pesos</translation>
    </message>
    <message>
        <source>Validation fraction</source>
        <translation>Proporción para validación</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Arquitectura</translation>
    </message>
    <message>
        <source>Encoder</source>
        <translation>Codificador</translation>
    </message>
    <message>
        <source>Keep the best when stopped</source>
        <translation>Conservar el mejor al detener</translation>
    </message>
    <message>
        <source>Training steps</source>
        <translation>Pasos de entrenamiento</translation>
    </message>
    <message>
        <source>Validation IoU</source>
        <translation>IoU de validación</translation>
    </message>
    <message>
        <source>Validation F1</source>
        <translation>F1 de validación</translation>
    </message>
    <message>
        <source>Validation precision</source>
        <translation>Precisión de validación</translation>
    </message>
    <message>
        <source>Validation recall</source>
        <translation>Exhaustividad de validación</translation>
    </message>
    <message>
        <source>Evaluate a model</source>
        <translation>Evaluar un modelo</translation>
    </message>
    <message>
        <source>score,accuracy,iou,f1,precision,recall,validate,test,deep learning,road</source>
        <translation>puntuación,exactitud,iou,f1,precisión,exhaustividad,validar,probar,aprendizaje profundo,carretera,vía</translation>
    </message>
    <message>
        <source>Tolerance (m)</source>
        <translation>Tolerancia (m)</translation>
    </message>
    <message>
        <source>Halo</source>
        <translation>Margen de solape de las teselas (halo)</translation>
    </message>
    <message>
        <source>Memory (GB)</source>
        <translation>Memoria (GB)</translation>
    </message>
    <message>
        <source>Test-time augmentation</source>
        <translation>Aumento de datos en inferencia (TTA)</translation>
    </message>
    <message>
        <source>Threshold</source>
        <translation>Umbral</translation>
    </message>
    <message>
        <source>Grid</source>
        <translation>Cuadrícula</translation>
    </message>
    <message>
        <source>Scores</source>
        <translation>Puntuaciones</translation>
    </message>
    <message>
        <source>IoU</source>
        <translation>IoU</translation>
    </message>
    <message>
        <source>F1</source>
        <translation>F1</translation>
    </message>
    <message>
        <source>Recall</source>
        <translation>Exhaustividad</translation>
    </message>
    <message>
        <source>Relaxed F1</source>
        <translation>F1 con tolerancia</translation>
    </message>
    <message>
        <source>Relaxed precision</source>
        <translation>Precisión con tolerancia</translation>
    </message>
    <message>
        <source>Relaxed recall</source>
        <translation>Exhaustividad con tolerancia</translation>
    </message>
    <message>
        <source>Threshold with the best F1</source>
        <translation>Umbral con el mejor F1</translation>
    </message>
    <message>
        <source>F1 at that threshold</source>
        <translation>F1 con ese umbral</translation>
    </message>
    <message>
        <source>Evaluated pixels</source>
        <translation>Píxeles evaluados</translation>
    </message>
    <message>
        <source>Fraction of road pixels</source>
        <translation>Proporción de píxeles de vía</translation>
    </message>
    <message>
        <source>Suggest where to label</source>
        <translation>Sugerir dónde dibujar</translation>
    </message>
    <message>
        <source>active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road</source>
        <translation>aprendizaje activo,incertidumbre,entropía,anotar,dibujar,digitalizar,etiquetar,área de interés,carretera,vía</translation>
    </message>
    <message>
        <source>Road probability</source>
        <translation>Probabilidad de vía</translation>
    </message>
    <message>
        <source>Labeled areas</source>
        <translation>Áreas ya dibujadas</translation>
    </message>
    <message>
        <source>Number of patches</source>
        <translation>Número de parcelas</translation>
    </message>
    <message>
        <source>Patch size (m)</source>
        <translation>Tamaño de parcela (m)</translation>
    </message>
    <message>
        <source>Spread</source>
        <translation>Dispersión</translation>
    </message>
    <message>
        <source>Patches to label</source>
        <translation>Parcelas por dibujar</translation>
    </message>
    <message>
        <source>Number of suggested patches</source>
        <translation>Número de parcelas sugeridas</translation>
    </message>
    <message>
        <source>Mean uncertainty of the scene</source>
        <translation>Incertidumbre media de la escena</translation>
    </message>
    <message>
        <source>Export training chips</source>
        <translation>Exportar recortes de entrenamiento</translation>
    </message>
    <message>
        <source>tiles,patches,dataset,training data,coco,stac,esri,arcgis,label,mask,deep learning,road</source>
        <translation>teselas,recortes,conjunto de datos,datos de entrenamiento,coco,stac,esri,arcgis,etiqueta,máscara,aprendizaje profundo,carretera,vía</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Formato</translation>
    </message>
    <message>
        <source>Overlap (px)</source>
        <translation>Solapamiento (px)</translation>
    </message>
    <message>
        <source>Minimum labeled fraction</source>
        <translation>Proporción etiquetada mínima</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Carpeta</translation>
    </message>
    <message>
        <source>Number of chips</source>
        <translation>Número de recortes</translation>
    </message>
    <message>
        <source>Images with chips</source>
        <translation>Imágenes con recortes</translation>
    </message>
    <message>
        <source>Fraction of labeled pixels</source>
        <translation>Proporción de píxeles etiquetados</translation>
    </message>
    <message>
        <source>Export a model</source>
        <translation>Exportar un modelo</translation>
    </message>
    <message>
        <source>onnx,deepness,stac,mlm,share,convert,save,model,road</source>
        <translation>onnx,deepness,stac,mlm,compartir,convertir,guardar,modelo,carretera,vía</translation>
    </message>
    <message>
        <source>ONNX model</source>
        <translation>Modelo ONNX</translation>
    </message>
    <message>
        <source>STAC item</source>
        <translation>Ítem STAC</translation>
    </message>
    <message>
        <source>File size (MB)</source>
        <translation>Tamaño del archivo (MB)</translation>
    </message>
    <message>
        <source>Quantize a model</source>
        <translation>Cuantizar un modelo</translation>
    </message>
    <message>
        <source>int8,integer,fast,vnni,amx,onnx,openvino,compress,optimize,model,road</source>
        <translation>int8,entero,rápido,vnni,amx,onnx,openvino,comprimir,optimizar,modelo,carretera,vía</translation>
    </message>
    <message>
        <source>Chips</source>
        <translation>Recortes</translation>
    </message>
    <message>
        <source>Fraction of pixels with the same class</source>
        <translation>Proporción de píxeles con la misma clase</translation>
    </message>
    <message>
        <source>IoU of the quantized model, with drawn roads</source>
        <translation>IoU del modelo cuantizado, con vías dibujadas</translation>
    </message>
    <message>
        <source>IoU in full precision, with drawn roads</source>
        <translation>IoU con precisión completa, con vías dibujadas</translation>
    </message>
    <message>
        <source>APLS of the quantized model, with drawn roads</source>
        <translation>APLS del modelo cuantizado, con vías dibujadas</translation>
    </message>
    <message>
        <source>APLS in full precision, with drawn roads</source>
        <translation>APLS con precisión completa, con vías dibujadas</translation>
    </message>
    <message>
        <source>Merge models</source>
        <translation>Fusionar modelos</translation>
    </message>
    <message>
        <source>average,federated,fedavg,combine,share,offices,batch normalization,deep learning,model,road</source>
        <translation>promedio,federado,fedavg,combinar,compartir,oficinas,normalización por lotes,deep learning,modelo,carretera,vía</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelos</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Pesos</translation>
    </message>
    <message>
        <source>Merged model</source>
        <translation>Modelo fusionado</translation>
    </message>
    <message>
        <source>Threshold of the merged model</source>
        <translation>Umbral del modelo fusionado</translation>
    </message>
    <message>
        <source>Measured image chips</source>
        <translation>Recortes de imagen medidos</translation>
    </message>
    <message>
        <source>Make a scene</source>
        <translation>Generar una escena</translation>
    </message>
    <message>
        <source>demo,example,synthetic,generate,procedural,test,image,road</source>
        <translation>demo,ejemplo,sintético,generar,procedural,prueba,imagen,carretera,vía</translation>
    </message>
    <message>
        <source>Size (px)</source>
        <translation>Tamaño (px)</translation>
    </message>
    <message>
        <source>Layout</source>
        <translation>Trazado de calles</translation>
    </message>
    <message>
        <source>Region</source>
        <translation>Región</translation>
    </message>
    <message>
        <source>Bit depth</source>
        <translation>Profundidad de bits</translation>
    </message>
    <message>
        <source>Roads</source>
        <translation>Vías</translation>
    </message>
    <message>
        <source>Number of lines</source>
        <translation>Número de líneas</translation>
    </message>
    <message>
        <source>Total length (m)</source>
        <translation>Longitud total (m)</translation>
    </message>
    <message>
        <source>Segment roads</source>
        <translation>Segmentar vías</translation>
    </message>
    <message>
        <source>mask,probability,predict,inference,classification,deep learning,road</source>
        <translation>máscara,probabilidad,predecir,inferencia,clasificación,aprendizaje profundo,carretera,vía</translation>
    </message>
    <message>
        <source>Ground resolution of web maps (m)</source>
        <translation>Resolución sobre el terreno de los mapas web (m)</translation>
    </message>
    <message>
        <source>Road mask</source>
        <translation>Máscara de vías</translation>
    </message>
    <message>
        <source>Megapixels per second</source>
        <translation>Megapíxeles por segundo</translation>
    </message>
    <message>
        <source>Pixels computed per output pixel</source>
        <translation>Píxeles calculados por píxel de salida</translation>
    </message>
    <message>
        <source>Tile halo (px)</source>
        <translation>Margen de solape de las teselas (px)</translation>
    </message>
    <message>
        <source>Vectorize roads</source>
        <translation>Vectorizar vías</translation>
    </message>
    <message>
        <source>center-line,centerline,skeleton,network,graph,line,road</source>
        <translation>eje,línea central,esqueleto,red,grafo,línea,carretera,vía</translation>
    </message>
    <message>
        <source>Road mask or probability</source>
        <translation>Máscara o probabilidad de vías</translation>
    </message>
    <message>
        <source>Threshold areas</source>
        <translation>Zonas con umbral propio</translation>
    </message>
    <message>
        <source>Spur length (m)</source>
        <translation>Longitud de ramales (m)</translation>
    </message>
    <message>
        <source>Longest gap (m)</source>
        <translation>Hueco más largo (m)</translation>
    </message>
    <message>
        <source>Gap angle (degrees)</source>
        <translation>Ángulo en los huecos (grados)</translation>
    </message>
    <message>
        <source>Snap distance (m)</source>
        <translation>Distancia de autoensamblado (m)</translation>
    </message>
    <message>
        <source>Shortest component (m)</source>
        <translation>Componente más corto (m)</translation>
    </message>
    <message>
        <source>Simplification (m)</source>
        <translation>Simplificación (m)</translation>
    </message>
    <message>
        <source>Hysteresis</source>
        <translation>Histéresis</translation>
    </message>
    <message>
        <source>Widest gap to close (m)</source>
        <translation>Hueco más ancho que cerrar (m)</translation>
    </message>
    <message>
        <source>Smallest hole (m²)</source>
        <translation>Agujero más pequeño (m²)</translation>
    </message>
    <message>
        <source>Smallest patch (m²)</source>
        <translation>Mancha más pequeña (m²)</translation>
    </message>
    <message>
        <source>Probability in gaps</source>
        <translation>Probabilidad en los huecos</translation>
    </message>
    <message>
        <source>Longest likely gap (m)</source>
        <translation>Hueco probable más largo (m)</translation>
    </message>
    <message>
        <source>Probability of links</source>
        <translation>Probabilidad de los enlaces</translation>
    </message>
    <message>
        <source>Longest unlikely dead end (m)</source>
        <translation>Callejón sin salida improbable más largo (m)</translation>
    </message>
    <message>
        <source>Probability of dead ends</source>
        <translation>Probabilidad de los callejones sin salida</translation>
    </message>
    <message>
        <source>Driving side</source>
        <translation>Lado de circulación</translation>
    </message>
    <message>
        <source>Center lines on roads</source>
        <translation>Centrar las líneas en las vías</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>Nodos</translation>
    </message>
    <message>
        <source>Links</source>
        <translation>Enlaces</translation>
    </message>
    <message>
        <source>Likely breaks</source>
        <translation>Posibles cortes</translation>
    </message>
    <message>
        <source>Extract roads</source>
        <translation>Extraer vías</translation>
    </message>
    <message>
        <source>map,network,center-line,centerline,predict,deep learning,road</source>
        <translation>cartografiar,red,eje,línea central,predecir,aprendizaje profundo,carretera,vía</translation>
    </message>
    <message>
        <source>Map a region</source>
        <translation>Cartografiar una región</translation>
    </message>
    <message>
        <source>scenes,tiles,mosaic,district,country,cluster,dask,batch,network,center-line,mask,deep learning,road</source>
        <translation>escenas,teselas,mosaico,distrito,país,clúster,dask,lote,red,eje,máscara,aprendizaje profundo,carretera</translation>
    </message>
    <message>
        <source>Scenes</source>
        <translation>Escenas</translation>
    </message>
    <message>
        <source>Folder or index of scenes</source>
        <translation>Carpeta o índice de escenas</translation>
    </message>
    <message>
        <source>Dates</source>
        <translation>Fechas</translation>
    </message>
    <message>
        <source>Largest cloud cover (%)</source>
        <translation>Nubosidad máxima (%)</translation>
    </message>
    <message>
        <source>Dask scheduler</source>
        <translation>Planificador de Dask</translation>
    </message>
    <message>
        <source>Workers</source>
        <translation>Procesos de trabajo</translation>
    </message>
    <message>
        <source>Block size (px)</source>
        <translation>Tamaño de bloque (px)</translation>
    </message>
    <message>
        <source>Number of connected components</source>
        <translation>Número de componentes conexos</translation>
    </message>
    <message>
        <source>Number of scenes</source>
        <translation>Número de escenas</translation>
    </message>
    <message>
        <source>Scenes mapped in this run</source>
        <translation>Escenas cartografiadas en esta ejecución</translation>
    </message>
    <message>
        <source>Scenes kept from an earlier run</source>
        <translation>Escenas conservadas de una ejecución anterior</translation>
    </message>
    <message>
        <source>Number of failures</source>
        <translation>Número de fallos</translation>
    </message>
    <message>
        <source>Scenes outside the area of interest</source>
        <translation>Escenas fuera del área de interés</translation>
    </message>
    <message>
        <source>Megapixels mapped</source>
        <translation>Megapíxeles cartografiados</translation>
    </message>
    <message>
        <source>Line ends at seams without a counterpart</source>
        <translation>Extremos de líneas en las uniones sin contraparte</translation>
    </message>
    <message>
        <source>Index of scenes</source>
        <translation>Índice de escenas</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Red viaria</translation>
    </message>
    <message>
        <source>Get OpenStreetMap data</source>
        <translation>Obtener datos de OpenStreetMap</translation>
    </message>
    <message>
        <source>openstreetmap,osm,overpass,download,extract,highway,river,railway,label,before,line,road</source>
        <translation>openstreetmap,osm,overpass,descargar,extracto,carretera,río,ferrocarril,etiqueta,antes,línea</translation>
    </message>
    <message>
        <source>OpenStreetMap file</source>
        <translation>Archivo de OpenStreetMap</translation>
    </message>
    <message>
        <source>Overpass server</source>
        <translation>Servidor Overpass</translation>
    </message>
    <message>
        <source>Login for the server</source>
        <translation>Inicio de sesión del servidor</translation>
    </message>
    <message>
        <source>Bridges</source>
        <translation>Puentes</translation>
    </message>
    <message>
        <source>Water</source>
        <translation>Agua</translation>
    </message>
    <message>
        <source>Railways</source>
        <translation>Ferrocarriles</translation>
    </message>
    <message>
        <source>Runways</source>
        <translation>Pistas de aterrizaje</translation>
    </message>
    <message>
        <source>Places without a road</source>
        <translation>Lugares sin carretera</translation>
    </message>
    <message>
        <source>Downloaded file</source>
        <translation>Archivo descargado</translation>
    </message>
    <message>
        <source>Number of roads</source>
        <translation>Número de carreteras</translation>
    </message>
    <message>
        <source>Number of bridges</source>
        <translation>Número de puentes</translation>
    </message>
    <message>
        <source>Number of places without a road</source>
        <translation>Número de lugares sin carretera</translation>
    </message>
    <message>
        <source>Attribution</source>
        <translation>Atribución</translation>
    </message>
    <message>
        <source>Clean road network</source>
        <translation>Limpiar la red viaria</translation>
    </message>
    <message>
        <source>topology,gap,snap,junction,dangle,network,graph,line,road</source>
        <translation>topología,hueco,autoensamblar,cruce,extremo suelto,red,grafo,línea,carretera,vía</translation>
    </message>
    <message>
        <source>Lines</source>
        <translation>Líneas</translation>
    </message>
    <message>
        <source>Known bridges</source>
        <translation>Puentes conocidos</translation>
    </message>
    <message>
        <source>Bridge field of the lines</source>
        <translation>Campo de puentes de las líneas</translation>
    </message>
    <message>
        <source>Join lines</source>
        <translation>Unir líneas</translation>
    </message>
    <message>
        <source>Joining distance (m)</source>
        <translation>Tolerancia de unión (m)</translation>
    </message>
    <message>
        <source>Junction merging distance (m)</source>
        <translation>Distancia de fusión de cruces (m)</translation>
    </message>
    <message>
        <source>Score a network</source>
        <translation>Puntuar una red viaria</translation>
    </message>
    <message>
        <source>apls,topo,completeness,correctness,quality,accuracy,graph,compare,evaluate,line,road</source>
        <translation>apls,topo,completitud,corrección,calidad,exactitud,grafo,comparar,evaluar,línea,carretera,vía</translation>
    </message>
    <message>
        <source>Proposed roads</source>
        <translation>Vías propuestas</translation>
    </message>
    <message>
        <source>True roads</source>
        <translation>Vías de referencia</translation>
    </message>
    <message>
        <source>Bridge field of the true roads</source>
        <translation>Campo de puentes de las vías de referencia</translation>
    </message>
    <message>
        <source>Bridge field of the proposed roads</source>
        <translation>Campo de puentes de las vías propuestas</translation>
    </message>
    <message>
        <source>Speed field of the true roads</source>
        <translation>Campo de velocidad de las vías de referencia</translation>
    </message>
    <message>
        <source>Speed field of the proposed roads</source>
        <translation>Campo de velocidad de las vías propuestas</translation>
    </message>
    <message>
        <source>Snap distance of APLS (m)</source>
        <translation>Distancia de autoensamblado de APLS (m)</translation>
    </message>
    <message>
        <source>Tolerance of completeness (m)</source>
        <translation>Tolerancia de la completitud (m)</translation>
    </message>
    <message>
        <source>Speed unit</source>
        <translation>Unidad de velocidad</translation>
    </message>
    <message>
        <source>Tolerance of relaxed scores (m)</source>
        <translation>Tolerancia de las puntuaciones con tolerancia (m)</translation>
    </message>
    <message>
        <source>Control point spacing of APLS (m)</source>
        <translation>Espaciado de los puntos de control de APLS (m)</translation>
    </message>
    <message>
        <source>Radius of TOPO (m)</source>
        <translation>Radio de TOPO (m)</translation>
    </message>
    <message>
        <source>Matching distance of TOPO (m)</source>
        <translation>Distancia de emparejamiento de TOPO (m)</translation>
    </message>
    <message>
        <source>Seed spacing of TOPO (m)</source>
        <translation>Espaciado de los puntos de inicio de TOPO (m)</translation>
    </message>
    <message>
        <source>Sampling interval of TOPO (m)</source>
        <translation>Intervalo de muestreo de TOPO (m)</translation>
    </message>
    <message>
        <source>Matched, missed and false</source>
        <translation>Correctas, omitidas y falsas</translation>
    </message>
    <message>
        <source>APLS by length</source>
        <translation>APLS por longitud</translation>
    </message>
    <message>
        <source>APLS, truth onto proposal</source>
        <translation>APLS, de la verdad a la propuesta</translation>
    </message>
    <message>
        <source>APLS, proposal onto truth</source>
        <translation>APLS, de la propuesta a la verdad</translation>
    </message>
    <message>
        <source>APLS by travel time</source>
        <translation>APLS por tiempo de viaje</translation>
    </message>
    <message>
        <source>TOPO precision</source>
        <translation>Precisión de TOPO</translation>
    </message>
    <message>
        <source>TOPO recall</source>
        <translation>Exhaustividad de TOPO</translation>
    </message>
    <message>
        <source>TOPO F1</source>
        <translation>F1 de TOPO</translation>
    </message>
    <message>
        <source>Completeness</source>
        <translation>Completitud</translation>
    </message>
    <message>
        <source>Correctness</source>
        <translation>Corrección</translation>
    </message>
    <message>
        <source>Quality</source>
        <translation>Calidad</translation>
    </message>
    <message>
        <source>Draw an accuracy sample</source>
        <translation>Extraer una muestra de exactitud</translation>
    </message>
    <message>
        <source>accuracy,sample,completeness,correctness,validate,review,quality,check,line,road</source>
        <translation>exactitud,muestra,completitud,corrección,validar,revisar,calidad,línea,carretera</translation>
    </message>
    <message>
        <source>Road network</source>
        <translation>Red de carreteras</translation>
    </message>
    <message>
        <source>Number of places</source>
        <translation>Número de lugares</translation>
    </message>
    <message>
        <source>Length of transects (m)</source>
        <translation>Longitud de los transectos (m)</translation>
    </message>
    <message>
        <source>Length of stretches (m)</source>
        <translation>Longitud de los tramos (m)</translation>
    </message>
    <message>
        <source>Random seed</source>
        <translation>Semilla aleatoria</translation>
    </message>
    <message>
        <source>Accuracy sample</source>
        <translation>Muestra de exactitud</translation>
    </message>
    <message>
        <source>Number of stretches</source>
        <translation>Número de tramos</translation>
    </message>
    <message>
        <source>Number of transects</source>
        <translation>Número de transectos</translation>
    </message>
    <message>
        <source>Length of the network (m)</source>
        <translation>Longitud de la red (m)</translation>
    </message>
    <message>
        <source>Area (m²)</source>
        <translation>Superficie (m²)</translation>
    </message>
    <message>
        <source>Check accuracy</source>
        <translation>Comprobar la exactitud</translation>
    </message>
    <message>
        <source>accuracy,sample,completeness,correctness,confidence interval,validate,review,quality,report,road</source>
        <translation>exactitud,muestra,completitud,corrección,intervalo de confianza,validar,revisar,calidad,informe,carretera</translation>
    </message>
    <message>
        <source>Judged sample</source>
        <translation>Muestra evaluada</translation>
    </message>
    <message>
        <source>Accuracy</source>
        <translation>Exactitud</translation>
    </message>
    <message>
        <source>Completeness, lower limit</source>
        <translation>Completitud, límite inferior</translation>
    </message>
    <message>
        <source>Completeness, upper limit</source>
        <translation>Completitud, límite superior</translation>
    </message>
    <message>
        <source>Correctness, lower limit</source>
        <translation>Corrección, límite inferior</translation>
    </message>
    <message>
        <source>Correctness, upper limit</source>
        <translation>Corrección, límite superior</translation>
    </message>
    <message>
        <source>Judged places</source>
        <translation>Lugares evaluados</translation>
    </message>
    <message>
        <source>Further places for 3 points</source>
        <translation>Lugares adicionales para 3 puntos</translation>
    </message>
    <message>
        <source>Export a network for routing</source>
        <translation>Exportar una red para rutas</translation>
    </message>
    <message>
        <source>openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,routing,shortest path,graph,network,line,road</source>
        <translation>openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,rutas,camino más corto,grafo,red,línea,carretera,vía</translation>
    </message>
    <message>
        <source>One-way field of the lines</source>
        <translation>Campo de sentido único de las líneas</translation>
    </message>
    <message>
        <source>Class field of the lines</source>
        <translation>Campo de clase de las líneas</translation>
    </message>
    <message>
        <source>Speed field of the lines</source>
        <translation>Campo de velocidad de las líneas</translation>
    </message>
    <message>
        <source>Components to keep</source>
        <translation>Componentes que conservar</translation>
    </message>
    <message>
        <source>Reviewed roads only</source>
        <translation>Solo carreteras revisadas</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Grafo</translation>
    </message>
    <message>
        <source>Nodes and edges</source>
        <translation>Nodos y aristas</translation>
    </message>
    <message>
        <source>Number of nodes</source>
        <translation>Número de nodos</translation>
    </message>
    <message>
        <source>Number of directed edges</source>
        <translation>Número de aristas dirigidas</translation>
    </message>
    <message>
        <source>Compare road networks</source>
        <translation>Comparar redes viarias</translation>
    </message>
    <message>
        <source>change,damage,disaster,before,after,lost,detour,route,access,isolated,graph,line,road</source>
        <translation>cambio,daño,desastre,antes,después,perdido,desvío,ruta,acceso,aislado,grafo,línea,carretera,vía</translation>
    </message>
    <message>
        <source>Roads after</source>
        <translation>Vías después</translation>
    </message>
    <message>
        <source>Roads before</source>
        <translation>Vías antes</translation>
    </message>
    <message>
        <source>Places</source>
        <translation>Lugares</translation>
    </message>
    <message>
        <source>Origins</source>
        <translation>Orígenes</translation>
    </message>
    <message>
        <source>Confirmed damage</source>
        <translation>Daños confirmados</translation>
    </message>
    <message>
        <source>Name field of the places</source>
        <translation>Campo de nombre de los lugares</translation>
    </message>
    <message>
        <source>Name field of the origins</source>
        <translation>Campo de nombre de los orígenes</translation>
    </message>
    <message>
        <source>Bridge field of the roads before</source>
        <translation>Campo de puentes de las vías antes</translation>
    </message>
    <message>
        <source>Bridge field of the roads after</source>
        <translation>Campo de puentes de las vías después</translation>
    </message>
    <message>
        <source>Speed field of the roads before</source>
        <translation>Campo de velocidad de las vías antes</translation>
    </message>
    <message>
        <source>Speed field of the roads after</source>
        <translation>Campo de velocidad de las vías después</translation>
    </message>
    <message>
        <source>Largest displacement (m)</source>
        <translation>Mayor desplazamiento (m)</translation>
    </message>
    <message>
        <source>Attaching distance (m)</source>
        <translation>Distancia de conexión (m)</translation>
    </message>
    <message>
        <source>Distance of places (m)</source>
        <translation>Distancia de ajuste de los lugares (m)</translation>
    </message>
    <message>
        <source>Align</source>
        <translation>Alinear</translation>
    </message>
    <message>
        <source>Routes run on</source>
        <translation>Las rutas van por</translation>
    </message>
    <message>
        <source>Roads outside remain</source>
        <translation>Las vías de fuera permanecen</translation>
    </message>
    <message>
        <source>Shortest stretch (m)</source>
        <translation>Tramo más corto (m)</translation>
    </message>
    <message>
        <source>Maximum angle (degrees)</source>
        <translation>Ángulo máximo (grados)</translation>
    </message>
    <message>
        <source>Longer route (%)</source>
        <translation>Ruta más larga (%)</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Cambios</translation>
    </message>
    <message>
        <source>Places and their routes</source>
        <translation>Lugares y sus rutas</translation>
    </message>
    <message>
        <source>Statistics</source>
        <translation>Estadísticas</translation>
    </message>
    <message>
        <source>Intact length (m)</source>
        <translation>Longitud intacta (m)</translation>
    </message>
    <message>
        <source>Intact fraction of the roads before</source>
        <translation>Proporción intacta de las vías antes</translation>
    </message>
    <message>
        <source>Displaced length (m)</source>
        <translation>Longitud desplazada (m)</translation>
    </message>
    <message>
        <source>Displaced fraction of the roads before</source>
        <translation>Proporción desplazada de las vías antes</translation>
    </message>
    <message>
        <source>Lost length (m)</source>
        <translation>Longitud perdida (m)</translation>
    </message>
    <message>
        <source>Lost fraction of the roads before</source>
        <translation>Proporción perdida de las vías antes</translation>
    </message>
    <message>
        <source>New length (m)</source>
        <translation>Longitud nueva (m)</translation>
    </message>
    <message>
        <source>New fraction of the roads after</source>
        <translation>Proporción nueva de las vías después</translation>
    </message>
    <message>
        <source>Eastward offset of the roads after (m)</source>
        <translation>Desfase hacia el este de las vías después (m)</translation>
    </message>
    <message>
        <source>Northward offset of the roads after (m)</source>
        <translation>Desfase hacia el norte de las vías después (m)</translation>
    </message>
    <message>
        <source>Places cut off</source>
        <translation>Lugares aislados</translation>
    </message>
    <message>
        <source>Places with a route interrupted only by short gaps</source>
        <translation>Lugares con la ruta interrumpida solo por huecos cortos</translation>
    </message>
    <message>
        <source>Places with a longer route</source>
        <translation>Lugares con una ruta más larga</translation>
    </message>
    <message>
        <source>Places with an unchanged route</source>
        <translation>Lugares con la ruta sin cambios</translation>
    </message>
    <message>
        <source>State of known roads</source>
        <translation>Estado de vías conocidas</translation>
    </message>
    <message>
        <source>change,damage,disaster,event,flood,landslide,state,status,lost,blocked,bridge,access,isolated,check,report,before,after,line,road</source>
        <translation>cambio,daño,desastre,evento,inundación,deslizamiento,estado,perdida,bloqueada,puente,acceso,aislado,comprobar,informe,antes,después,línea,vía,carretera</translation>
    </message>
    <message>
        <source>Known roads</source>
        <translation>Vías conocidas</translation>
    </message>
    <message>
        <source>Image after</source>
        <translation>Imagen posterior</translation>
    </message>
    <message>
        <source>Further images after</source>
        <translation>Otras imágenes posteriores</translation>
    </message>
    <message>
        <source>Image before</source>
        <translation>Imagen anterior</translation>
    </message>
    <message>
        <source>Hazards</source>
        <translation>Zonas de peligro</translation>
    </message>
    <message>
        <source>Clouds</source>
        <translation>Nubes</translation>
    </message>
    <message>
        <source>Sites</source>
        <translation>Sitios</translation>
    </message>
    <message>
        <source>Districts</source>
        <translation>Distritos</translation>
    </message>
    <message>
        <source>Class field</source>
        <translation>Campo de la clase</translation>
    </message>
    <message>
        <source>Name field of the sites</source>
        <translation>Campo de nombre de los sitios</translation>
    </message>
    <message>
        <source>Name field of the districts</source>
        <translation>Campo de nombre de los distritos</translation>
    </message>
    <message>
        <source>Bridge field of the known roads</source>
        <translation>Campo de puentes de las vías conocidas</translation>
    </message>
    <message>
        <source>Near-infrared band</source>
        <translation>Banda del infrarrojo cercano</translation>
    </message>
    <message>
        <source>Distance of sites (m)</source>
        <translation>Distancia de ajuste de los sitios (m)</translation>
    </message>
    <message>
        <source>Reach (m)</source>
        <translation>Alcance (m)</translation>
    </message>
    <message>
        <source>Roads with their state</source>
        <translation>Vías con su estado</translation>
    </message>
    <message>
        <source>Sites and their paths</source>
        <translation>Sitios y sus caminos</translation>
    </message>
    <message>
        <source>Offset arrows</source>
        <translation>Flechas de desfase</translation>
    </message>
    <message>
        <source>Length that is seen (m)</source>
        <translation>Longitud visible (m)</translation>
    </message>
    <message>
        <source>Length that is partly seen (m)</source>
        <translation>Longitud parcialmente visible (m)</translation>
    </message>
    <message>
        <source>Length that is not seen (m)</source>
        <translation>Longitud no visible (m)</translation>
    </message>
    <message>
        <source>Length under water (m)</source>
        <translation>Longitud bajo el agua (m)</translation>
    </message>
    <message>
        <source>Length in a hazard (m)</source>
        <translation>Longitud en zona de peligro (m)</translation>
    </message>
    <message>
        <source>Hidden length (m)</source>
        <translation>Longitud oculta (m)</translation>
    </message>
    <message>
        <source>Length outside (m)</source>
        <translation>Longitud fuera (m)</translation>
    </message>
    <message>
        <source>Mean length of road that a site reaches before (m)</source>
        <translation>Longitud media de vía que un sitio alcanza antes (m)</translation>
    </message>
    <message>
        <source>Mean length of road that a site reaches after (m)</source>
        <translation>Longitud media de vía que un sitio alcanza después (m)</translation>
    </message>
    <message>
        <source>Sites cut off</source>
        <translation>Sitios aislados</translation>
    </message>
    <message>
        <source>Apply a review</source>
        <translation>Aplicar una revisión</translation>
    </message>
    <message>
        <source>review,accept,reject,correct,merge,status,label,learn,training,line,road</source>
        <translation>revisión,aceptar,rechazar,corregir,combinar,estado,etiqueta,aprender,entrenamiento,línea,carretera</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>Revisión</translation>
    </message>
    <message>
        <source>Other review</source>
        <translation>Otra revisión</translation>
    </message>
    <message>
        <source>Roads extracted anew</source>
        <translation>Carreteras extraídas de nuevo</translation>
    </message>
    <message>
        <source>Reviewed roads</source>
        <translation>Carreteras revisadas</translation>
    </message>
    <message>
        <source>Accepted stretches</source>
        <translation>Tramos aceptados</translation>
    </message>
    <message>
        <source>Rejected stretches</source>
        <translation>Tramos rechazados</translation>
    </message>
    <message>
        <source>Stretches with contradicting answers</source>
        <translation>Tramos con respuestas contradictorias</translation>
    </message>
    <message>
        <source>Judged stretches on no line</source>
        <translation>Tramos juzgados que no están en ninguna línea</translation>
    </message>
    <message>
        <source>Length of lines that nobody judged (m)</source>
        <translation>Longitud de las líneas sin juzgar (m)</translation>
    </message>
    <message>
        <source>Length of reviewed lines (m)</source>
        <translation>Longitud de las líneas revisadas (m)</translation>
    </message>
    <message>
        <source>Length of drawn lines (m)</source>
        <translation>Longitud de las líneas dibujadas (m)</translation>
    </message>
    <message>
        <source>Make a MapRoulette challenge</source>
        <translation>Crear un desafío de MapRoulette</translation>
    </message>
    <message>
        <source>maproulette,openstreetmap,osm,task,challenge,mapper,check,change,break,geojson,road</source>
        <translation>maproulette,openstreetmap,osm,tarea,desafío,mapeador,revisar,cambio,corte,geojson,carretera,vía</translation>
    </message>
    <message>
        <source>Changes, states or likely breaks</source>
        <translation>Cambios, estados o posibles cortes</translation>
    </message>
    <message>
        <source>Earlier challenge</source>
        <translation>Desafío anterior</translation>
    </message>
    <message>
        <source>Extract of OpenStreetMap</source>
        <translation>Extracto de OpenStreetMap</translation>
    </message>
    <message>
        <source>Displaced roads</source>
        <translation>Vías desplazadas</translation>
    </message>
    <message>
        <source>Longest stretch (m)</source>
        <translation>Tramo más largo (m)</translation>
    </message>
    <message>
        <source>Challenge</source>
        <translation>Desafío</translation>
    </message>
    <message>
        <source>Number of tasks</source>
        <translation>Número de tareas</translation>
    </message>
    <message>
        <source>Tasks that keep an earlier id</source>
        <translation>Tareas que conservan un identificador anterior</translation>
    </message>
    <message>
        <source>Stretches left out as too short</source>
        <translation>Tramos omitidos por ser demasiado cortos</translation>
    </message>
    <message>
        <source>Export changes for OpenStreetMap</source>
        <translation>Exportar cambios para OpenStreetMap</translation>
    </message>
    <message>
        <source>openstreetmap,osm,osc,osmchange,josm,conflation,new,missing,accepted,review,upload,line,road</source>
        <translation>openstreetmap,osm,osc,osmchange,josm,conflación,nuevo,faltante,aceptado,revisión,subir,línea,carretera,vía</translation>
    </message>
    <message>
        <source>Change file</source>
        <translation>Archivo de cambios</translation>
    </message>
    <message>
        <source>New roads</source>
        <translation>Vías nuevas</translation>
    </message>
    <message>
        <source>Places where new roads join ways of the extract</source>
        <translation>Lugares donde las vías nuevas se unen a vías del extracto</translation>
    </message>
    <message>
        <source>Ways with a new node</source>
        <translation>Vías con un nodo nuevo</translation>
    </message>
    <message>
        <source>Length of the new roads (m)</source>
        <translation>Longitud de las vías nuevas (m)</translation>
    </message>
    <message>
        <source>Workflows</source>
        <translation>Flujos de trabajo</translation>
    </message>
    <message>
        <source>Find changes after an event</source>
        <translation>Encontrar cambios tras un evento</translation>
    </message>
    <message>
        <source>disaster,damage,flood,earthquake,before,after,change,lost,blocked,access,deep learning,workflow,road</source>
        <translation>desastre,daño,inundación,terremoto,antes,después,cambio,perdido,bloqueado,acceso,aprendizaje profundo,flujo de trabajo,carretera</translation>
    </message>
    <message>
        <source>MapRoulette challenge</source>
        <translation>Desafío de MapRoulette</translation>
    </message>
    <message>
        <source>Fine-tune and map roads</source>
        <translation>Ajustar un modelo y cartografiar vías</translation>
    </message>
    <message>
        <source>train,learn,model,map,network,center-line,centerline,deep learning,workflow,road</source>
        <translation>entrenar,aprender,modelo,mapa,red,eje,línea central,aprendizaje profundo,flujo de trabajo,vía</translation>
    </message>
    <message>
        <source>Learn from the review</source>
        <translation>Aprender de la revisión</translation>
    </message>
    <message>
        <source>review,active learning,verdict,accept,reject,improve,fine-tune,train,extract,deep learning,workflow,road</source>
        <translation>revisión,aprendizaje activo,veredicto,aceptar,rechazar,mejorar,ajustar,entrenar,extraer,aprendizaje profundo,flujo de trabajo,carretera</translation>
    </message>
    <message>
        <source>Map roads with a model</source>
        <translation>Cartografiar vías con un modelo</translation>
    </message>
    <message>
        <source>map,network,center-line,centerline,predict,probability,deep learning,workflow,road</source>
        <translation>mapa,red,eje,línea central,predicción,probabilidad,aprendizaje profundo,flujo de trabajo,vía</translation>
    </message>
    <message>
        <source>Update OSM: find new and lost roads</source>
        <translation>Actualizar OSM: encontrar vías nuevas y perdidas</translation>
    </message>
    <message>
        <source>openstreetmap,change,difference,compare,missing,update,map,deep learning,workflow,road</source>
        <translation>openstreetmap,cambio,diferencia,comparar,falta,actualizar,mapa,aprendizaje profundo,flujo de trabajo,vía</translation>
    </message>
    <message>
        <source>Trace road center-lines in the layer roads. In the layer aoi, add polygons in which every road is drawn. Save the edits of both layers, and run Fine-tune a model.</source>
        <translation>Trace los ejes de las vías en la capa roads. Añada a la capa aoi polígonos en los que todas las vías estén dibujadas. Guarde los cambios de ambas capas y ejecute Ajustar un modelo.</translation>
    </message>
    <message>
        <source>The label layers are in a temporary file that QGIS deletes when it closes. Choose a file to keep them.</source>
        <translation>Las capas de etiquetas están en un archivo temporal que se borra al cerrar QGIS. Elija un archivo para conservarlas.</translation>
    </message>
    <message>
        <source>the extent</source>
        <translation>la extensión</translation>
    </message>
    <message>
        <source>Rectangle to get data of, such as the map's. An area of interest takes precedence. At most {area} km² are downloaded; of a file, any area is read.</source>
        <translation>Rectángulo del que se obtienen los datos, como el del mapa. Un área de interés tiene prioridad. Se descargan como máximo {area} km²; de un archivo se lee cualquier área.</translation>
    </message>
    <message>
        <source>Asking {server}</source>
        <translation>Consultando {server}</translation>
    </message>
    <message>
        <source>There is nothing for the layer {layer}.</source>
        <translation>No hay nada para la capa {layer}.</translation>
    </message>
    <message>
        <source>The report is {path}. Read it, and attach it to a new issue: {address}</source>
        <translation>El informe es {path}. Léalo y adjúntelo a una nueva incidencia: {address}</translation>
    </message>
    <message>
        <source>Importing the packages of the runtime</source>
        <translation>Importando los paquetes del entorno de ejecución</translation>
    </message>
    <message>
        <source>Text files (*.txt)</source>
        <translation>Archivos de texto (*.txt)</translation>
    </message>
    <message>
        <source>RoadSeg's runtime is {python}: {version}</source>
        <translation>El entorno de ejecución de RoadSeg es {python}: {version}</translation>
    </message>
    <message>
        <source>Fine-tune a model, then extract roads. All parameters are filled in.</source>
        <translation>Ajuste un modelo y luego extraiga vías. Todos los parámetros están rellenados.</translation>
    </message>
    <message>
        <source>RoadSeg generates a scene on which you can try it. This takes less than a minute.</source>
        <translation>RoadSeg genera una escena para probarlo. Tarda menos de un minuto.</translation>
    </message>
    <message>
        <source>Fine-tune a model…</source>
        <translation>Ajustar un modelo…</translation>
    </message>
    <message>
        <source>RoadSeg is generating the scene. The status bar shows the progress.</source>
        <translation>RoadSeg está generando la escena. La barra de estado muestra el progreso.</translation>
    </message>
    <message>
        <source>{folder} cannot be created ({reason}).</source>
        <translation>No se puede crear {folder} ({reason}).</translation>
    </message>
    <message>
        <source>Set up runtime…</source>
        <translation>Configurar el entorno de ejecución…</translation>
    </message>
    <message>
        <source>Install {packages}</source>
        <translation>Instalar {packages}</translation>
    </message>
    <message>
        <source>Roads found in imagery: check them on the ground.</source>
        <translation>Vías halladas en imágenes: compruébelas sobre el terreno.</translation>
    </message>
    <message>
        <source>Field sheet</source>
        <translation>Hoja de campo</translation>
    </message>
    <message>
        <source>To check:</source>
        <translation>Por comprobar:</translation>
    </message>
    <message>
        <source>Ready to extract the roads of a satellite layer.</source>
        <translation>Todo listo para extraer las vías de una capa satelital.</translation>
    </message>
    <message>
        <source>The map does not show an image. Add a satellite layer first.</source>
        <translation>El mapa no muestra ninguna imagen. Añada primero una capa satelital.</translation>
    </message>
    <message>
        <source>Extract roads in this view</source>
        <translation>Extraer las vías de esta vista</translation>
    </message>
    <message>
        <source>F1 on held-out blocks</source>
        <translation>F1 en bloques reservados</translation>
    </message>
    <message>
        <source>F1 {f1:.2f} on held-out blocks</source>
        <translation>F1 {f1:.2f} en bloques reservados</translation>
    </message>
    <message>
        <source>F1 on held-out blocks: {f1:.2f}</source>
        <translation>F1 en bloques reservados: {f1:.2f}</translation>
    </message>
    <message>
        <source>Choose an image</source>
        <translation>Elija una imagen</translation>
    </message>
    <message>
        <source>Starter model</source>
        <translation>Modelo inicial</translation>
    </message>
    <message>
        <source>Create new layers</source>
        <translation>Crear capas nuevas</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Ninguna</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. The model keeps everything that it learned from the layer. Choose another layer for drawing.</source>
        <translation>Se quitó la capa {layer}. El modelo conserva todo lo que aprendió de ella. Elija otra capa para dibujar.</translation>
    </message>
    <message>
        <source>{count} drawn features of the session are missing from the layers: QGIS may have ended before they were saved.</source>
        <translation>{count} objetos dibujados de la sesión no están en las capas: quizá QGIS terminó antes de guardarlos.</translation>
    </message>
    <message>
        <source>Not started</source>
        <translation>Sin iniciar</translation>
    </message>
    <message>
        <source>Choose an image, and press Start.</source>
        <translation>Elija una imagen y pulse Iniciar.</translation>
    </message>
    <message>
        <source>Rendering</source>
        <translation>Renderizando</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>Cargando</translation>
    </message>
    <message>
        <source>The worker is starting and reading the model.</source>
        <translation>El proceso de trabajo arranca y lee el modelo.</translation>
    </message>
    <message>
        <source>Your drawn features are in your layers. The model is kept as of its last checkpoint.</source>
        <translation>Los objetos dibujados están en sus capas. El modelo se conserva como en su último punto de control.</translation>
    </message>
    <message>
        <source>Put them back</source>
        <translation>Recuperarlos</translation>
    </message>
    <message>
        <source>Where to store the labels</source>
        <translation>Dónde guardar lo que se dibuja</translation>
    </message>
    <message>
        <source>Creating label layers</source>
        <translation>Creando capas de etiquetas</translation>
    </message>
    <message>
        <source>Choose an image: a raster layer of the project.</source>
        <translation>Elija una imagen: una capa ráster del proyecto.</translation>
    </message>
    <message>
        <source>The image of the last session is not in this project. Add it, choose it and press Start.</source>
        <translation>La imagen de la última sesión no está en este proyecto. Añádala, elíjala y pulse Iniciar.</translation>
    </message>
    <message>
        <source>Continuing</source>
        <translation>Continuando</translation>
    </message>
    <message>
        <source>Pausing</source>
        <translation>Pausando</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Detenido</translation>
    </message>
    <message>
        <source>The image was not rendered completely.</source>
        <translation>La imagen no se renderizó hasta el final.</translation>
    </message>
    <message>
        <source>Ended</source>
        <translation>Terminado</translation>
    </message>
    <message>
        <source>Resume continues with the learned model.</source>
        <translation>Reanudar continúa con lo aprendido.</translation>
    </message>
    <message>
        <source>Save the edits</source>
        <translation>Guardar los cambios</translation>
    </message>
    <message>
        <source>The visible part of {layer} is being rendered.</source>
        <translation>Se está representando la parte visible de {layer}.</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Continuar</translation>
    </message>
    <message>
        <source>These layers have unsaved edits: {layers}.</source>
        <translation>Lo dibujado aún no está guardado: {layers}.</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>Deteniendo</translation>
    </message>
    <message>
        <source>The current step is being finished and the model is being written.</source>
        <translation>Se está terminando el paso actual y escribiendo el modelo.</translation>
    </message>
    <message>
        <source>Put back</source>
        <translation>Recuperado</translation>
    </message>
    <message>
        <source>The image {layer} was removed. The session ends.</source>
        <translation>Se quitó la imagen {layer}. La sesión termina.</translation>
    </message>
    <message>
        <source>Accept the link</source>
        <translation>Aceptar el enlace</translation>
    </message>
    <message>
        <source>Choose a polygon layer for places without a road. Create label layers makes one.</source>
        <translation>Elija una capa de polígonos para los lugares sin vía. «Crear capas de etiquetas» crea una.</translation>
    </message>
    <message>
        <source>This place is not on the image. Click within the image.</source>
        <translation>Este lugar no está en la imagen. Haga clic dentro de la imagen.</translation>
    </message>
    <message>
        <source>There is nothing to correct at this place.</source>
        <translation>No hay nada que corregir en este lugar.</translation>
    </message>
    <message>
        <source>Choose a layer of drawn roads. The link is added to it.</source>
        <translation>Elija una capa de vías dibujadas. El enlace se añade a ella.</translation>
    </message>
    <message>
        <source>Keep this model</source>
        <translation>Conservar este modelo</translation>
    </message>
    <message>
        <source>The session ended before the model was kept. Resume the session, then keep the model.</source>
        <translation>La sesión terminó antes de conservar el modelo. Reanude la sesión y conserve entonces el modelo.</translation>
    </message>
    <message>
        <source>Map all…</source>
        <translation>Cartografiar todo…</translation>
    </message>
    <message>
        <source>The model is in {model}.</source>
        <translation>El modelo está en {model}.</translation>
    </message>
    <message>
        <source>The model is in {model}. F1 on held-out blocks is {f1:.2f}.</source>
        <translation>El modelo está en {model}. F1 en bloques reservados es {f1:.2f}.</translation>
    </message>
    <message>
        <source>Its training labels are in {labels}.</source>
        <translation>Lo que le ha servido para aprender está en {labels}.</translation>
    </message>
    <message>
        <source>RoadSeg live: rendering {layer}</source>
        <translation>RoadSeg live: renderizando {layer}</translation>
    </message>
    <message>
        <source>RoadSeg live: creating a layer for places without a road</source>
        <translation>RoadSeg live: creando una capa para los lugares sin vía</translation>
    </message>
    <message>
        <source>{path} cannot be written.</source>
        <translation>{path} no se puede escribir.</translation>
    </message>
    <message>
        <source>The layer {layer} has no coordinate reference system. The image's is assumed.</source>
        <translation>La capa {layer} no tiene sistema de referencia. Se supone el de la imagen.</translation>
    </message>
    <message>
        <source>Features of the layer {layer} cannot be transformed to the image's CRS and are left out.</source>
        <translation>Hay objetos de la capa {layer} que no se pueden transformar al SRC de la imagen y se omiten.</translation>
    </message>
    <message>
        <source>Some road widths in the layer {layer} are not numbers. These roads get the common width.</source>
        <translation>Algunos anchos de vía de la capa {layer} no son números. Esas vías reciben el ancho común.</translation>
    </message>
    <message>
        <source>Road probability, live</source>
        <translation>Probabilidad de vía, en vivo</translation>
    </message>
    <message>
        <source>Uncertainty, live</source>
        <translation>Incertidumbre, en vivo</translation>
    </message>
    <message>
        <source>RoadSeg live</source>
        <translation>RoadSeg live</translation>
    </message>
    <message>
        <source>Uncertainty</source>
        <translation>Incertidumbre</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Iniciar</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pausa</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Detener</translation>
    </message>
    <message>
        <source>Resume the last session</source>
        <translation>Reanudar la última sesión</translation>
    </message>
    <message>
        <source>Keep this model…</source>
        <translation>Conservar este modelo…</translation>
    </message>
    <message>
        <source>Correct by clicks</source>
        <translation>Corregir con clics</translation>
    </message>
    <message>
        <source>Click on a false road to mark “no road here”. Click on a gap to turn the proposed link into a road.</source>
        <translation>Haga clic en una vía falsa para marcar “aquí no hay vía”. Haga clic en un hueco para convertir el enlace propuesto en una vía.</translation>
    </message>
    <message>
        <source>Draw next, where the model is most uncertain:</source>
        <translation>Dibuje a continuación donde el modelo está más inseguro:</translation>
    </message>
    <message>
        <source>Stop now</source>
        <translation>Detener ya</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Mostrar</translation>
    </message>
    <message>
        <source>Waiting for labels</source>
        <translation>Esperando etiquetas</translation>
    </message>
    <message>
        <source>Learning</source>
        <translation>Aprendiendo</translation>
    </message>
    <message>
        <source>Predicting</source>
        <translation>Prediciendo</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>En pausa</translation>
    </message>
    <message>
        <source>Nothing new to learn</source>
        <translation>Nada nuevo que aprender</translation>
    </message>
    <message>
        <source>Draw a road with QGIS' own tools.</source>
        <translation>Dibuje una vía con las herramientas de QGIS.</translation>
    </message>
    <message>
        <source>Draw where the map is wrong.</source>
        <translation>Dibuje donde el mapa se equivoca.</translation>
    </message>
    <message>
        <source>Roads drawn: {count}</source>
        <translation>Vías dibujadas: {count}</translation>
    </message>
    <message>
        <source>Place {number}</source>
        <translation>Lugar {number}</translation>
    </message>
    <message>
        <source>Step {step:,}</source>
        <translation>Paso {step:,}</translation>
    </message>
    <message>
        <source>Last stroke learned after {seconds:.1f} s</source>
        <translation>Último trazo aprendido tras {seconds:.1f} s</translation>
    </message>
    <message>
        <source>{rate:.1f} steps per second</source>
        <translation>{rate:.1f} pasos por segundo</translation>
    </message>
    <message>
        <source>Trace roads</source>
        <translation>Trazar vías</translation>
    </message>
    <message>
        <source>Try it on a generated scene</source>
        <translation>Probar con una escena generada</translation>
    </message>
    <message>
        <source>Field sheet…</source>
        <translation>Hoja de campo…</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Configuración…</translation>
    </message>
    <message>
        <source>Runtime: {status}…</source>
        <translation>Entorno de ejecución: {status}…</translation>
    </message>
    <message>
        <source>The project has no road probability.</source>
        <translation>El proyecto no tiene ninguna probabilidad de carretera.</translation>
    </message>
    <message>
        <source>Run Segment roads or Extract roads with a road probability, and add it to the project.</source>
        <translation>Ejecute «Segmentar vías» o «Extraer vías» con una probabilidad de vía y añádala al proyecto.</translation>
    </message>
    <message>
        <source>The review is complete: {accepted} accepted, {rejected} rejected.</source>
        <translation>La revisión está completa: {accepted} aceptados, {rejected} rechazados.</translation>
    </message>
    <message>
        <source>The layer has no lines of a kind that is reviewed, so there is nothing to review.</source>
        <translation>La capa no tiene líneas de un tipo que se revise, así que no hay nada que revisar.</translation>
    </message>
    <message>
        <source>Some lines were deleted in the meantime. They are left out.</source>
        <translation>Entretanto se eliminaron algunas líneas. Se omiten.</translation>
    </message>
    <message>
        <source>&lt;b&gt;New road&lt;/b&gt;, {length}. Accept if the image shows a road here.</source>
        <translation>&lt;b&gt;Vía nueva&lt;/b&gt;, {length}. Acepte si la imagen muestra aquí una vía.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Lost road&lt;/b&gt;, {length}. Accept if the image shows that the road no longer exists.</source>
        <translation>&lt;b&gt;Vía perdida&lt;/b&gt;, {length}. Acepte si la imagen muestra que la vía ya no existe.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Displaced road&lt;/b&gt;, {length}. Accept if the image shows the road beside the line.</source>
        <translation>&lt;b&gt;Vía desplazada&lt;/b&gt;, {length}. Acepte si la imagen muestra la vía al lado de la línea.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Road&lt;/b&gt;, {length}. Accept if the image shows a road here.</source>
        <translation>&lt;b&gt;Vía&lt;/b&gt;, {length}. Acepte si la imagen muestra aquí una vía.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Sampled road&lt;/b&gt;, {length}. Accept if most of it lies on a road.</source>
        <translation>&lt;b&gt;Vía de la muestra&lt;/b&gt;, {length}. Acepte si la mayor parte está sobre una vía.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Transect&lt;/b&gt;, {length}. How many roads cross it that the network lacks?</source>
        <translation>&lt;b&gt;Transecto&lt;/b&gt;, {length}. ¿Cuántas carreteras lo cruzan que faltan en la red?</translation>
    </message>
    <message>
        <source>The layer is being edited. Save or discard its edits to continue the review.</source>
        <translation>La capa se está editando. Guarde o descarte sus ediciones para continuar la revisión.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. The review has ended.</source>
        <translation>Se quitó la capa {layer}. La revisión ha terminado.</translation>
    </message>
    <message>
        <source>The line was reviewed elsewhere in the meantime. Its answer stays.</source>
        <translation>Entretanto, la línea se revisó en otro lugar. Su respuesta se conserva.</translation>
    </message>
    <message>
        <source>The review is complete. Run Apply a review to get the network without the rejected parts.</source>
        <translation>La revisión está completa. «Aplicar una revisión» escribe la red sin lo rechazado.</translation>
    </message>
    <message>
        <source>Roads are hardly visible at this scale. Zoom in to at least 1:{scale} to accept a view.</source>
        <translation>A esta escala apenas se ven las vías. Acerque el mapa al menos hasta 1:{scale} para aceptar una vista.</translation>
    </message>
    <message>
        <source>There is no line under the brush.</source>
        <translation>No hay ninguna línea bajo el pincel.</translation>
    </message>
    <message>
        <source>Lines in this view without a verdict: &lt;b&gt;{count}&lt;/b&gt;. Click each wrong line, or paint along its wrong part. Trace each missing road. Then accept the rest of the view.</source>
        <translation>Líneas de esta vista sin veredicto: &lt;b&gt;{count}&lt;/b&gt;. Haga clic en una línea errónea o pinte a lo largo de su parte errónea. Trace las vías que faltan. Después acepte: el resto de la vista es correcto.</translation>
    </message>
    <message>
        <source>Save it as a GeoPackage (Make Permanent or Export in its menu), and review that layer.</source>
        <translation>Guárdela como GeoPackage (Hacer permanente o Exportar en su menú) y revise esa capa.</translation>
    </message>
    <message>
        <source>Rename the file.</source>
        <translation>Cambie el nombre del archivo.</translation>
    </message>
    <message>
        <source>Copy the network to a folder in which you can write.</source>
        <translation>Copie la red en una carpeta en la que pueda escribir.</translation>
    </message>
    <message>
        <source>The review cannot be written to {path} ({reason}).</source>
        <translation>La revisión no se puede escribir en {path} ({reason}).</translation>
    </message>
    <message>
        <source>The layer {layer} has no file, so its review cannot be written beside it.</source>
        <translation>La capa {layer} no está en ningún archivo junto al que se pueda escribir su revisión.</translation>
    </message>
    <message>
        <source>Review of {layer}</source>
        <translation>Revisión de {layer}</translation>
    </message>
    <message>
        <source>{path} is not the review of this network.</source>
        <translation>{path} no es la revisión de esta red.</translation>
    </message>
    <message>
        <source>Select a road network, changes or an accuracy sample, and choose Review.</source>
        <translation>Seleccione una red de carreteras, cambios o una muestra de exactitud, y elija Revisión.</translation>
    </message>
    <message>
        <source>{reviewed} of {total} reviewed, {left} left</source>
        <translation>{reviewed} de {total} revisados, quedan {left}</translation>
    </message>
    <message>
        <source>Accept</source>
        <translation>Aceptar</translation>
    </message>
    <message>
        <source>Reject</source>
        <translation>Rechazar</translation>
    </message>
    <message>
        <source>Skip</source>
        <translation>Omitir</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Atrás</translation>
    </message>
    <message>
        <source>Zoom to the line</source>
        <translation>Acercar a la línea</translation>
    </message>
    <message>
        <source>Trace a missing road</source>
        <translation>Trazar una vía que falta</translation>
    </message>
    <message>
        <source>Learn from the review…</source>
        <translation>Aprender de la revisión…</translation>
    </message>
    <message>
        <source>Select a road network, or the result of Compare road networks or Draw an accuracy sample.</source>
        <translation>Seleccione una red de vías, o el resultado de «Comparar redes de vías» o «Extraer una muestra de exactitud».</translation>
    </message>
    <message>
        <source>This layer is temporary, so its review can be lost. Save the layer with Make Permanent in its menu.</source>
        <translation>Esta capa es temporal, por lo que su revisión se puede perder. Guarde la capa con «Hacer permanente» en su menú.</translation>
    </message>
    <message>
        <source>The layer {layer} is not a review layer: it needs lines with the field “{field}”.</source>
        <translation>La capa {layer} no es una capa de revisión: necesita líneas con el campo «{field}».</translation>
    </message>
    <message>
        <source>No layer is selected.</source>
        <translation>No hay ninguna capa seleccionada.</translation>
    </message>
    <message>
        <source>Export the layer to a GeoPackage (its menu, Export), and review the new layer.</source>
        <translation>Exporte la capa a un GeoPackage (su menú, Exportar) y revise la capa nueva.</translation>
    </message>
    <message>
        <source>Rename the field, so that the review gets its own field.</source>
        <translation>Cambie el nombre del campo para que la revisión tenga un campo propio.</translation>
    </message>
    <message>
        <source>Close other programs that use its file, and make room on the disk.</source>
        <translation>Cierre otros programas que usen su archivo y libere espacio en el disco.</translation>
    </message>
    <message>
        <source>The layer {layer} is read-only, so the review cannot be written to it.</source>
        <translation>La capa {layer} es de solo lectura, así que la revisión no se puede escribir en ella.</translation>
    </message>
    <message>
        <source>The field “{field}” of the layer {layer} is not a text field.</source>
        <translation>El campo «{field}» de la capa {layer} no es un campo de texto.</translation>
    </message>
    <message>
        <source>The review cannot be written to the layer {layer} ({reason}).</source>
        <translation>La revisión no se puede escribir en la capa {layer} ({reason}).</translation>
    </message>
    <message>
        <source>&lt;b&gt;{name}&lt;/b&gt; {value}, 95 % interval {low} to {high}</source>
        <translation>&lt;b&gt;{name}&lt;/b&gt; {value}, intervalo del 95 %: de {low} a {high}</translation>
    </message>
    <message>
        <source>About {more} more places would give ±{margin} points; {left} are left.</source>
        <translation>Unos {more} lugares más darían ±{margin} puntos; quedan {left}.</translation>
    </message>
    <message>
        <source>Places to judge before the first estimate: {count}</source>
        <translation>Lugares por juzgar antes de la primera estimación: {count}</translation>
    </message>
    <message>
        <source>Both are known to ±{margin} points. &lt;b&gt;Enough: you can stop.&lt;/b&gt;</source>
        <translation>Ambas se conocen con ±{margin} puntos. &lt;b&gt;Suficiente: puede parar.&lt;/b&gt;</translation>
    </message>
    <message>
        <source>The layer says nothing of the accuracy. {reason}</source>
        <translation>La capa no dice nada sobre la exactitud. {reason}</translation>
    </message>
    <message>
        <source>This computer was suspended for {minutes} min. The session continues.</source>
        <translation>Este equipo estuvo suspendido {minutes} min. La sesión continúa.</translation>
    </message>
    <message>
        <source>Python</source>
        <translation>Python</translation>
    </message>
    <message>
        <source>RoadSeg's own runtime</source>
        <translation>Entorno de ejecución propio de RoadSeg</translation>
    </message>
    <message>
        <source>Models folder</source>
        <translation>Carpeta de modelos</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>Ninguna carpeta</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automático</translation>
    </message>
    <message>
        <source>The Python environment in which RoadSeg computes. Set up runtime builds it. Choose another one only if it has all packages.</source>
        <translation>El entorno de Python en el que calcula RoadSeg. «Configurar el entorno de ejecución» lo crea. Elija otro solo si tiene todos los paquetes.</translation>
    </message>
    <message>
        <source>Resources</source>
        <translation>Recursos</translation>
    </message>
    <message>
        <source>These apply if an algorithm's own threads and memory are 0, and its device is auto.</source>
        <translation>Se aplican si los hilos y la memoria del propio algoritmo son 0 y su dispositivo es auto.</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Archivos</translation>
    </message>
    <message>
        <source>Dialogs start with the newest model in this folder. For a model to write, they propose a new name in it.</source>
        <translation>Los diálogos empiezan con el modelo más reciente de esta carpeta. Para un modelo que se escribe, proponen en ella un nombre nuevo.</translation>
    </message>
    <message>
        <source>All ({count})</source>
        <translation>Todos ({count})</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>Estado</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Memoria</translation>
    </message>
    <message>
        <source>The environment variable {name} is set and takes precedence.</source>
        <translation>La variable de entorno {name} está definida y tiene prioridad.</translation>
    </message>
    <message>
        <source>Road probability to choose a threshold for:</source>
        <translation>Probabilidad de carretera para la que se elige un umbral:</translation>
    </message>
    <message>
        <source>The lines of the whole raster are being extracted in the background.</source>
        <translation>Las líneas de todo el ráster se extraen en segundo plano.</translation>
    </message>
    <message>
        <source>The lines of the whole raster are in the project.</source>
        <translation>Las líneas de todo el ráster están en el proyecto.</translation>
    </message>
    <message>
        <source>Zoom in to see the lines.</source>
        <translation>Acerque el mapa para ver las líneas.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed.</source>
        <translation>Se ha eliminado la capa {layer}.</translation>
    </message>
    <message>
        <source>More roads here</source>
        <translation>Más carreteras aquí</translation>
    </message>
    <message>
        <source>Fewer roads here</source>
        <translation>Menos carreteras aquí</translation>
    </message>
    <message>
        <source>Undo last area</source>
        <translation>Deshacer la última zona</translation>
    </message>
    <message>
        <source>Extract all lines</source>
        <translation>Extraer todas las líneas</translation>
    </message>
    <message>
        <source>Use this threshold for</source>
        <translation>Usar este umbral para</translation>
    </message>
    <message>
        <source>Minimum probability of a road pixel</source>
        <translation>Probabilidad mínima de un píxel de carretera</translation>
    </message>
    <message>
        <source>Opens a dialog in which the advanced parameter Threshold is filled in</source>
        <translation>Abre un diálogo con el parámetro avanzado Umbral ya rellenado</translation>
    </message>
    <message>
        <source>Drag around a part of the map, or across it for a rectangle.</source>
        <translation>Arrastre alrededor de una parte del mapa, o a través de ella para un rectángulo.</translation>
    </message>
    <message>
        <source>Select a road probability, and choose Threshold.</source>
        <translation>Seleccione una probabilidad de carretera y elija Umbral.</translation>
    </message>
    <message>
        <source>Road probability along which roads are traced:</source>
        <translation>Probabilidad de vía a lo largo de la cual se trazan las vías:</translation>
    </message>
    <message>
        <source>The layer {layer} cannot be saved ({reason}).</source>
        <translation>La capa {layer} no se puede guardar ({reason}).</translation>
    </message>
    <message>
        <source>Move the map to where it lies, or choose Trace roads again for another one.</source>
        <translation>Mueva el mapa hasta donde está, o elija de nuevo Trazar vías para usar otra.</translation>
    </message>
    <message>
        <source>The layer {layer} is no longer being edited. Tracing has ended.</source>
        <translation>La capa {layer} ya no se está editando. El trazado ha terminado.</translation>
    </message>
    <message>
        <source>The road probability {layer} does not cover this part of the map.</source>
        <translation>La probabilidad de carretera {layer} no cubre esta parte del mapa.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. Tracing has ended.</source>
        <translation>Se quitó la capa {layer}. El trazado ha terminado.</translation>
    </message>
    <message>
        <source>{reason} Tracing has ended.</source>
        <translation>{reason} El trazado ha terminado.</translation>
    </message>
    <message>
        <source>Select the line layer in which the roads are to be drawn.</source>
        <translation>Seleccione la capa de líneas en la que se dibujarán las vías.</translation>
    </message>
    <message>
        <source>Trace road</source>
        <translation>Trazar una vía</translation>
    </message>
    <message>
        <source>Draw it by hand.</source>
        <translation>Dibújela a mano.</translation>
    </message>
    <message>
        <source>Export the layer to a GeoPackage (its menu, Export), and draw in the new layer.</source>
        <translation>Exporte la capa a un GeoPackage (su menú, Exportar) y dibuje en la capa nueva.</translation>
    </message>
    <message>
        <source>Switch its editing on (Toggle Editing), and choose Trace roads again.</source>
        <translation>Active su edición (Conmutar edición) y elija «Trazar vías» de nuevo.</translation>
    </message>
    <message>
        <source>The layer {layer} did not accept the road.</source>
        <translation>La capa {layer} no aceptó la vía.</translation>
    </message>
    <message>
        <source>The layer {layer} has no lines.</source>
        <translation>La capa {layer} no tiene líneas.</translation>
    </message>
    <message>
        <source>The layer {layer} is read-only, so no roads can be drawn in it.</source>
        <translation>La capa {layer} es de solo lectura, así que no se pueden dibujar vías en ella.</translation>
    </message>
    <message>
        <source>The layer {layer} is not being edited.</source>
        <translation>La capa {layer} no se está editando.</translation>
    </message>
    <message>
        <source>Generated scene</source>
        <translation>Escena generada</translation>
    </message>
    <message>
        <source>RoadSeg demo</source>
        <translation>Demo de RoadSeg</translation>
    </message>
    <message>
        <source>(no class)</source>
        <translation>(sin clase)</translation>
    </message>
    <message>
        <source>Road class</source>
        <translation>Clase de vía</translation>
    </message>
    <message>
        <source>Width (m)</source>
        <translation>Ancho (m)</translation>
    </message>
    <message>
        <source>Sure that it is a road</source>
        <translation>Seguro de que es una vía</translation>
    </message>
    <message>
        <source>Fields were renamed in {layer}: {renamed}</source>
        <translation>Se cambió el nombre de campos en {layer}: {renamed}</translation>
    </message>
    <message>
        <source>The style file next to {file} cannot be written ({reason}).</source>
        <translation>El estilo no se puede escribir junto a {file} ({reason}).</translation>
    </message>
    <message>
        <source>Further lines of output are omitted.</source>
        <translation>Se omiten más líneas de salida.</translation>
    </message>
    <message>
        <source>{reason} It is asked once more in {seconds} s.</source>
        <translation>{reason} Se vuelve a consultar en {seconds} s.</translation>
    </message>
    <message>
        <source>The answer of {server} is of no use: {fault}.</source>
        <translation>La respuesta de {server} no sirve: {fault}.</translation>
    </message>
    <message>
        <source>{server} cannot be reached: {reason}.</source>
        <translation>No se puede acceder a {server}: {reason}.</translation>
    </message>
    <message>
        <source>{server} is busy (HTTP {status}).</source>
        <translation>{server} está ocupado (HTTP {status}).</translation>
    </message>
    <message>
        <source>{server} sent nothing for {seconds} s.</source>
        <translation>{server} no ha enviado nada en {seconds} s.</translation>
    </message>
    <message>
        <source>{server} refuses (HTTP {status}).</source>
        <translation>{server} rechaza la consulta (HTTP {status}).</translation>
    </message>
    <message>
        <source>settings</source>
        <translation>configuración</translation>
    </message>
    <message>
        <source>ready ({packages})</source>
        <translation>listo ({packages})</translation>
    </message>
    <message>
        <source>missing ({packages})</source>
        <translation>falta ({packages})</translation>
    </message>
    <message>
        <source>of another version of RoadSeg</source>
        <translation>de otra versión de RoadSeg</translation>
    </message>
    <message>
        <source>missing</source>
        <translation>falta</translation>
    </message>
    <message>
        <source>The setting {key} is {value}, which is beyond its limits. {taken} is used instead.</source>
        <translation>El ajuste {key} es {value}, fuera de sus límites. En su lugar se usa {taken}.</translation>
    </message>
    <message>
        <source>The setting {key} is {text}, which is no device. The setting is ignored.</source>
        <translation>El ajuste {key} es {text}, que no es un dispositivo. El ajuste se ignora.</translation>
    </message>
    <message>
        <source>{path} is not an executable file. Choose a Python interpreter, or leave the field empty.</source>
        <translation>{path} no es un archivo ejecutable. Elija un intérprete de Python o deje el campo vacío.</translation>
    </message>
    <message>
        <source>{path} is not a folder. Choose another folder, or leave the field empty.</source>
        <translation>{path} no es una carpeta. Elija otra carpeta o deje el campo vacío.</translation>
    </message>
    <message>
        <source>The setting {key} is {text}, which is not a number. The setting is ignored.</source>
        <translation>El ajuste {key} es {text}, que no es un número. El ajuste se ignora.</translation>
    </message>
    <message>
        <source>Fields of {layer} are renamed in the results: {renamed}</source>
        <translation>Los campos de {layer} cambian de nombre en los resultados: {renamed}</translation>
    </message>
    <message>
        <source>{layer} has a field {field}. If you want to use it, choose it as {label}.</source>
        <translation>{layer} tiene un campo {field}. Si quiere usarlo, elíjalo como {label}.</translation>
    </message>
    <message>
        <source>Stopped as requested. The best model so far is in {files}</source>
        <translation>Detenido como se pidió. El mejor modelo hasta ahora está en {files}</translation>
    </message>
</context>
</TS>
